"""The files of a Ray cluster: commands that the command line takes, one token, and addresses that agree."""

import re
from ipaddress import ip_address, ip_network
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]  # has no types of its own

from acceptance.balancers import DEPLOY
from penchant.cli.cluster import PORT, cluster
from penchant.settings import load_settings

ROOT = DEPLOY.parent
POD_ADDRESS, HEAD = "10.0.0.7", "penchant-head-svc"
GRACE_S = 45
"""More than the 30 s for which Ray lets a node finish its tasks."""


def parsed(command: list[str]) -> dict[str, Any]:
    """Return what the command line makes of the words of a node."""
    name, *words = command[command.index("cluster") + 1 :]
    return cluster.commands[name].make_context(name, words).params | {"name": name}


def composed() -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the compose files: that of the nodes that serve, and that of the cluster beside them."""
    served, beside = (yaml.safe_load((DEPLOY / name).read_text()) for name in ("compose.yaml", "cluster.yaml"))
    return served, beside


def pods() -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the cluster of the manifest, and its pods, the head first."""
    manifest, _ = yaml.safe_load_all((DEPLOY / "kuberay.yaml").read_text())
    groups = [manifest["spec"]["headGroupSpec"], *manifest["spec"]["workerGroupSpecs"]]
    return manifest, [group["template"] for group in groups]


def test_nodes_of_compose_join_the_head_one_after_the_other() -> None:
    served, beside = composed()
    services = beside["services"]
    commands = {name: parsed(service["command"]) for name, service in services.items()}
    addresses = {name: service["networks"]["inside"]["ipv4_address"] for name, service in services.items()}

    assert {name: command["name"] for name, command in commands.items()} == {
        "head": "start",
        "member1": "join",
        "member2": "join",
    }
    subnet = ip_network(served["networks"]["inside"]["ipam"]["config"][0]["subnet"])
    taken = re.findall(r"ipv4_address: ([\d.]+)", (DEPLOY / "compose.yaml").read_text())
    assert len({*addresses.values(), *taken}) == len(addresses) + len(taken)
    for name, command in commands.items():
        assert (command["host"], command["block"]) == (addresses[name], True)
        assert ip_address(command["host"]) in subnet
    assert {commands[name]["address"] for name in ("member1", "member2")} == {f"{addresses['head']}:{PORT}"}
    assert set(services["member1"]["depends_on"]) == {"head"}
    assert set(services["member2"]["depends_on"]) == {"member1"}


def test_nodes_of_compose_have_one_token_and_the_image_with_ray() -> None:
    _, beside = composed()

    for name, service in beside["services"].items():
        assert service["build"]["args"] == {"LOCK": "ray"}
        assert service["environment"]["RAY_AUTH_TOKEN"].startswith("${PENCHANT_CLUSTER_TOKEN:?")
        assert service["volumes"] == [f"{name}:/var/lib/penchant"]
        assert int(service["stop_grace_period"].removesuffix("s")) >= GRACE_S
        assert (service["shm_size"], parsed(service["command"])["memory_bytes"]) == ("1g", 500_000_000)
    head = beside["services"]["head"]["environment"]
    loaded = load_settings(environment={name: value for name, value in head.items() if name.startswith("PENCHANT_")})
    assert loaded.cluster == f"{parsed(beside['services']['head']['command'])['host']}:{PORT}"
    assert (ROOT / "requirements" / "ray.txt").is_file()
    assert 'requirements/$LOCK.txt"' in (DEPLOY / "Containerfile").read_text()


def test_pods_of_kuberay_run_the_commands_of_nodes() -> None:
    manifest, templates = pods()
    containers = [container for template in templates for container in template["spec"]["containers"]]

    assert manifest["metadata"]["annotations"] == {"ray.io/overwrite-container-cmd": "true"}
    written = [" ".join(each["command"]).replace("$(POD_IP)", POD_ADDRESS) for each in containers]
    head, member = (parsed(each.replace("$(FQ_RAY_IP)", HEAD).split()) for each in written)
    assert (head["name"], head["host"], head["port"], head["block"]) == ("start", POD_ADDRESS, PORT, True)
    assert (member["name"], member["host"], member["address"]) == ("join", POD_ADDRESS, f"{HEAD}:{PORT}")
    assert [each["readinessProbe"]["tcpSocket"]["port"] for each in containers] == [PORT, member["first_port"]]
    assert {each["image"] for each in containers} == {"penchant:ray"}
    locked = re.search(r"^ray==(\S+)", (ROOT / "requirements" / "ray.txt").read_text(), re.MULTILINE)
    assert locked is not None
    assert manifest["spec"]["rayVersion"] == locked[1]


def test_pods_of_kuberay_share_a_token_and_are_reached_by_each_other_alone() -> None:
    _, policy = yaml.safe_load_all((DEPLOY / "kuberay.yaml").read_text())
    _, templates = pods()
    labels = policy["spec"]["podSelector"]["matchLabels"]

    assert policy["spec"]["policyTypes"] == ["Ingress"]
    assert policy["spec"]["ingress"] == [{"from": [{"podSelector": {"matchLabels": labels}}]}]
    for template in templates:
        spec, (container,) = template["spec"], template["spec"]["containers"]
        environment = {each["name"]: each for each in container["env"]}
        assert template["metadata"]["labels"] == labels
        assert environment["RAY_AUTH_TOKEN"]["valueFrom"]["secretKeyRef"]["name"] == "penchant-cluster"
        assert environment["RAY_AUTH_MODE"]["value"] == "token"
        assert spec["terminationGracePeriodSeconds"] >= GRACE_S
        assert spec["securityContext"]["runAsUser"] == 10_001
        assert {each["name"] for each in container["volumeMounts"]} == {each["name"] for each in spec["volumes"]}


@pytest.mark.parametrize("name", ("cluster.yaml", "kuberay.yaml"))
def test_no_file_holds_a_token(name: str) -> None:
    assert re.findall(r"[0-9a-f]{32}", (DEPLOY / name).read_text()) == []
