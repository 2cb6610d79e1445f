"""The files of a Ray cluster: one token, the image with Ray, and addresses that agree."""

import re
from ipaddress import ip_address, ip_network
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]  # has no types of its own

from acceptance.balancers import DEPLOY
from penchant.settings import load_settings

ROOT = DEPLOY.parent
PORT = 6379
"""That of a head where its command says nothing else."""
GRACE_S = 45
"""More than the 30 s for which Ray lets a node finish its tasks."""


def parsed(words: list[str]) -> dict[str, str]:
    """Return the options of `ray start`."""
    assert words[0] == "start"
    pairs = [word.removeprefix("--").partition("=") for word in words[1:]]
    return {name: value for name, _, value in pairs}


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

    assert [name for name, options in commands.items() if "head" in options] == ["head"]
    subnet = ip_network(served["networks"]["inside"]["ipam"]["config"][0]["subnet"])
    taken = re.findall(r"ipv4_address: ([\d.]+)", (DEPLOY / "compose.yaml").read_text())
    assert len({*addresses.values(), *taken}) == len(addresses) + len(taken)
    for name, command in commands.items():
        assert command["node-ip-address"] == addresses[name]
        assert "block" in command
        assert ip_address(addresses[name]) in subnet
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
        assert (service["entrypoint"], service["environment"]["RAY_AUTH_MODE"]) == (["ray"], "token")
    head = beside["services"]["head"]["environment"]
    loaded = load_settings(environment={name: value for name, value in head.items() if name.startswith("PENCHANT_")})
    assert loaded.cluster == f"{parsed(beside['services']['head']['command'])['node-ip-address']}:{PORT}"
    assert (ROOT / "requirements" / "ray.txt").is_file()
    assert 'requirements/$LOCK.txt"' in (DEPLOY / "Containerfile").read_text()


def test_pods_of_kuberay_are_those_of_the_locked_ray() -> None:
    manifest, templates = pods()
    containers = [container for template in templates for container in template["spec"]["containers"]]
    (members,) = manifest["spec"]["workerGroupSpecs"]

    ports = [PORT, int(members["rayStartParams"]["node-manager-port"])]
    assert [each["readinessProbe"]["tcpSocket"]["port"] for each in containers] == ports
    assert {each["image"] for each in containers} == {"penchant:ray"}
    locked = re.search(r"^ray==(\S+)", (ROOT / "requirements" / "ray.txt").read_text(), re.MULTILINE)
    assert locked is not None
    assert manifest["spec"]["rayVersion"] == locked[1]


def test_pods_of_kuberay_share_a_token_and_are_reached_by_each_other_alone() -> None:
    _, policy = yaml.safe_load_all((DEPLOY / "kuberay.yaml").read_text())
    manifest, templates = pods()
    labels = policy["spec"]["podSelector"]["matchLabels"]

    assert manifest["spec"]["authOptions"] == {"mode": "token"}
    assert policy["spec"]["policyTypes"] == ["Ingress"]
    assert policy["spec"]["ingress"] == [{"from": [{"podSelector": {"matchLabels": labels}}]}]
    for template in templates:
        spec, (container,) = template["spec"], template["spec"]["containers"]
        assert template["metadata"]["labels"] == labels
        assert spec["terminationGracePeriodSeconds"] >= GRACE_S
        assert spec["securityContext"]["runAsUser"] == 10_001
        assert {each["name"] for each in container["volumeMounts"]} == {each["name"] for each in spec["volumes"]}


@pytest.mark.parametrize("name", ("cluster.yaml", "kuberay.yaml"))
def test_no_file_holds_a_token(name: str) -> None:
    assert re.findall(r"[0-9a-f]{32}", (DEPLOY / name).read_text()) == []
