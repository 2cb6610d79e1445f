"""The Helm chart is what helm accepts, and agrees with the image and the service."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml  # type: ignore[import-untyped]  # has no types of its own

from acceptance.balancers import DEPLOY, program
from deploy.test_deploy_files import checked, words_of
from penchant.cli.health import TIMEOUT_S
from penchant.cli.serve import KILL_TIMEOUT_S
from penchant.settings import load_settings
from penchant.web.routes import interface_operations

OPERATIONS = interface_operations()

CHART = DEPLOY / "chart"
HEALTH = ["penchant", "health"]
SETTINGS = 'log-format = "json"\n[plans.press]\nfeatures = ["lists"]\n'


def rendered(tmp_path: Path, *values: str) -> dict[str, list[dict[str, Any]]]:
    """Return what helm makes of the chart, by kind."""
    words = [word for value in values for word in ("--set", value)]
    text = checked(program("helm"), "template", "shop", str(CHART), *words, HELM_CACHE_HOME=str(tmp_path))
    found: dict[str, list[dict[str, Any]]] = {}
    for each in yaml.safe_load_all(text):
        found.setdefault(each["kind"], []).append(each)
    return found


def pod(found: dict[str, list[dict[str, Any]]]) -> tuple[dict[str, Any], dict[str, Any]]:
    spec = found["StatefulSet"][0]["spec"]["template"]["spec"]
    return spec, spec["containers"][0]


def test_the_values_are_what_their_schema_says() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    values = yaml.safe_load((CHART / "values.yaml").read_text())

    jsonschema.Draft7Validator.check_schema(schema)
    jsonschema.validate(values, schema)
    assert set(schema["properties"]) == {*values, "global"}
    for wrong in ({"replicas": 2}, {"workers": 0}, {"replica": 1}, {"storage": {"size": "much"}}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(values | wrong, schema)


def test_helm_accepts_the_chart_and_refuses_many_pods_without_a_database(tmp_path: Path) -> None:
    checked(program("helm"), "lint", "--strict", str(CHART), HELM_CACHE_HOME=str(tmp_path))

    words = [program("helm"), "template", "shop", str(CHART), "--set", "replicas=2"]
    refused = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert refused.returncode != 0
    assert "/database/secret" in refused.stderr


def test_a_pod_on_a_file_is_one_that_the_image_makes(tmp_path: Path) -> None:
    found = rendered(tmp_path)
    spec, container = pod(found)

    assert set(found) == {"Service", "StatefulSet"}
    user = spec["securityContext"]
    assert words_of("USER") == [f"{user['runAsUser']}:{user['runAsGroup']}"]
    assert spec["terminationGracePeriodSeconds"] >= 2 * KILL_TIMEOUT_S + 5
    probes = [container[f"{name}Probe"] for name in ("startup", "liveness", "readiness")]
    assert [probe["exec"]["command"] for probe in probes] == [[*HEALTH, "--live"], [*HEALTH, "--live"], HEALTH]
    assert all(probe["timeoutSeconds"] > TIMEOUT_S for probe in probes)
    paths = {operation.path for operation in OPERATIONS}
    annotations = found["StatefulSet"][0]["spec"]["template"]["metadata"]["annotations"]
    assert annotations["prometheus.io/path"] in paths
    settings = load_settings(environment={each["name"]: each["value"] for each in container["env"]})
    assert (settings.workers, settings.database, settings.administration) == (2, None, False)
    assert settings.data.startswith(container["volumeMounts"][0]["mountPath"])
    assert {each["name"] for each in container["volumeMounts"]} == {"data", *(each["name"] for each in spec["volumes"])}


def test_many_pods_have_a_database_settings_a_budget_and_an_address(tmp_path: Path) -> None:
    values = ["replicas=3", "database.secret=db", "ingress.host=shop.example", "ingress.tlsSecret=tls"]
    values += ["namespaces={ingress,monitoring}", "basePath=/rec"]
    found = rendered(tmp_path, *values, f"settings={SETTINGS}")
    spec, container = pod(found)

    assert set(found) == {"Service", "StatefulSet", "Secret", "PodDisruptionBudget", "NetworkPolicy", "Ingress"}
    assert found["Secret"][0]["stringData"]["penchant.toml"] == SETTINGS
    (secret,) = [each["valueFrom"] for each in container["env"] if each["name"] == "PENCHANT_DATABASE"]
    assert secret == {"secretKeyRef": {"name": "db", "key": "url"}}
    (mounted,) = [each for each in container["volumeMounts"] if each["name"] == "settings"]
    (named,) = [each["value"] for each in container["env"] if each["name"] == "PENCHANT_SETTINGS"]
    assert named == f"{mounted['mountPath']}/penchant.toml"
    names = {each["metadata"]["name"] for each in found["Service"]}
    assert found["StatefulSet"][0]["spec"]["serviceName"] in names
    routes = found["Ingress"][0]["spec"]["rules"][0]["http"]["paths"]
    led = {route["path"]: route["backend"]["service"]["name"] for route in routes}
    assert led == {"/rec": "shop", "/rec/-/admin": "shop-nowhere", "/rec/-/metrics": "shop-nowhere"}
    assert set(led.values()) <= names
    assert [
        each["spec"].get("selector") for each in found["Service"] if each["metadata"]["name"] == "shop-nowhere"
    ] == [None]
    peers = found["NetworkPolicy"][0]["spec"]["ingress"][0]["from"]
    assert peers[1]["namespaceSelector"]["matchExpressions"][0]["values"] == ["ingress", "monitoring"]
    annotations = found["StatefulSet"][0]["spec"]["template"]["metadata"]["annotations"]
    assert annotations["prometheus.io/path"] == "/rec/-/metrics"
    assert {each["name"] for each in container["volumeMounts"]} == {"data", *(each["name"] for each in spec["volumes"])}


@pytest.mark.parametrize(
    ("values", "said"),
    (
        (('settings=base-path = "/rec"',), "basePath"),
        (('settings=dashboard-proxy-header = "remote-user"',), "namespaces"),
        (('settings=dashboard-proxy-header = "remote-user"', "ingress.host=shop.example"), "an ingress of your own"),
    ),
)
def test_settings_that_would_let_strangers_in_are_refused(tmp_path: Path, values: tuple[str, ...], said: str) -> None:
    words = [word for value in values for word in ("--set", value)]

    refused = subprocess.run(
        [program("helm"), "template", "shop", str(CHART), *words],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env=os.environ | {"HELM_CACHE_HOME": str(tmp_path)},
    )

    assert refused.returncode != 0
    assert said in refused.stderr
