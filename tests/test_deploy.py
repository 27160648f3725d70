"""The files in deploy/ fit the code: commands, options, settings, ports, probes, users and grace periods."""

import configparser
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from findspot.runtime import metrics
from findspot.settings import Settings, unknown_variables
from findspot.store import postgres
from findspot.surfaces.cli.main import cli
from findspot.surfaces.http.request_log import Metrics
from findspot.surfaces.http.rules import OPEN, RULES

ROOT = Path(__file__).resolve().parent.parent
DEPLOY = ROOT / "deploy"
PAGE = (ROOT / "docs" / "deployment.md").read_text(encoding="utf-8")
STOP_S = 10  # a process ends within this time after SIGTERM
SECRETS = {"FINDSPOT_DATABASE_URL", "FINDSPOT_TOKEN", "TURBOPUFFER_API_KEY", "POSTGRES_PASSWORD"}
# One more listens, and one holds a lock.
CONNECTIONS = {
    role: limits.readers + limits.more_readers + limits.writers + limits.more_writers + 2
    for role, limits in (("api", postgres.API), ("worker", postgres.WORKER))
}


@dataclass(frozen=True)
class Process:
    """A process of Findspot as a file starts it."""

    where: str
    arguments: list[str]
    variables: dict[str, str | None] = field(default_factory=dict)  # None: from a secret
    read_only: bool = False
    user: int | None = None
    grace_s: int = 0

    @property
    def is_api(self) -> bool:
        return self.arguments[0] == "serve"


def load(name: str) -> list[Any]:
    return list(yaml.safe_load_all((DEPLOY / name).read_text(encoding="utf-8")))


@cache
def compose() -> dict[str, Any]:
    (found,) = load("compose.yaml")
    assert isinstance(found, dict)
    return found


@cache
def manifests() -> dict[tuple[str, str], dict[str, Any]]:
    """Return the objects that the kustomization names, by kind and name."""
    (kustomization,) = load("kubernetes/kustomization.yaml")
    objects = [each for name in kustomization["resources"] for each in load(f"kubernetes/{name}")]
    assert {file.name for file in (DEPLOY / "kubernetes").iterdir()} == {
        "kustomization.yaml",
        *kustomization["resources"],
    }
    found = {(each["kind"], each["metadata"]["name"]): each for each in objects}
    assert len(found) == len(objects)
    return found


def pods() -> dict[str, dict[str, Any]]:
    """Return the pod of each deployment."""
    return {
        name: each["spec"]["template"]["spec"] for (kind, name), each in manifests().items() if kind == "Deployment"
    }


def unit(name: str) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None, comment_prefixes=("#",), delimiters=("=",), strict=True)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(DEPLOY / "systemd" / name, encoding="utf-8")
    return parser


UNITS = sorted(file.name for file in (DEPLOY / "systemd").iterdir())


def instructions() -> list[tuple[str, str]]:
    """Return the instructions of the Dockerfile, each with its arguments in one line."""
    text = re.sub(r"^#.*\n", "", (DEPLOY / "Dockerfile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    lines = re.sub(r"\\\n\s*", " ", text).splitlines()
    return [(name, rest) for name, _, rest in (line.partition(" ") for line in lines if line)]


def last_stage() -> dict[str, str]:
    """Return the last instruction of each kind in the image that runs."""
    found: dict[str, str] = {}
    for name, rest in instructions():
        if name == "FROM":
            found = {}
        found[name] = f"{found.get(name, '')} {rest}".strip() if name == "ENV" else rest
    return found


def assignments(text: str) -> dict[str, str | None]:
    return {name: value for name, _, value in (each.partition("=") for each in shlex.split(text))}


def image_variables() -> dict[str, str | None]:
    return assignments(last_stage()["ENV"])


def seconds(text: str) -> int:
    return int(text.removesuffix("s"))


def processes() -> Iterator[Process]:
    """Yield every process that a file starts."""
    image = last_stage()
    user = int(image["USER"].partition(":")[0])
    yield Process("Dockerfile", yaml.safe_load(image["CMD"]), image_variables(), True, user, STOP_S + 1)
    for name, service in compose()["services"].items():
        if name != "database":
            variables: dict[str, str | None] = {**image_variables(), **service["environment"]}
            yield Process(
                f"compose.yaml: {name}", service["command"], variables, service["read_only"],
                int(service["user"].partition(":")[0]), seconds(service["stop_grace_period"]),
            )  # fmt: skip
    for name, pod in pods().items():
        (container,) = pod["containers"]
        variables = {**image_variables(), **manifests()["ConfigMap", "findspot"]["data"]}
        variables |= {each["name"]: each.get("value") for each in container["env"]}
        context = {**pod["securityContext"], **container["securityContext"]}
        assert context["runAsNonRoot"]
        yield Process(
            f"kubernetes: {name}", container["args"], variables, context["readOnlyRootFilesystem"],
            context["runAsUser"], pod["terminationGracePeriodSeconds"],
        )  # fmt: skip
    for name in UNITS:
        service = unit(name)["Service"]
        variables = assignments(service["Environment"])
        command = shlex.split(service["ExecStart"])
        assert command[0] == "/opt/findspot/bin/findspot"
        arguments = [each for each in command[1:] if not each.startswith("$")]
        user = 0 if service["User"] == "root" else 1
        yield Process(
            name, arguments, variables, service["ProtectSystem"] == "strict", user, int(service["TimeoutStopSec"])
        )


EVERY = pytest.mark.parametrize("process", list(processes()), ids=lambda process: process.where)


def options(command: str) -> set[str]:
    found = cli.get_command(click.Context(cli), command)
    assert found is not None, f"there is no command {command}"
    return {name for parameter in found.params for name in parameter.opts}


# ── every process ──


@EVERY
def test_a_process_is_started_with_a_command_and_options_that_exist(process: Process) -> None:
    command, *rest = process.arguments
    assert {each for each in rest if each.startswith("--")} <= options(command)


@EVERY
def test_a_process_has_settings_that_exist_and_are_valid(process: Process) -> None:
    known = {field.alias for field in Settings.model_fields.values()}
    foreign = {"PATH", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "SERVE_OPTIONS"}
    assert set(process.variables) - foreign <= known
    assert unknown_variables(process.variables) == {}
    given = {
        name: re.sub(r"\$\{\w+(:-(.*)|:\?)\}", r"\2", value)
        for name, value in process.variables.items()
        if value and name in known and name not in SECRETS
    }
    Settings(**{name: value for name, value in given.items() if value})  # type: ignore[arg-type]


@EVERY
def test_a_process_is_not_root_and_cannot_write_the_root_file_system(process: Process) -> None:
    assert process.user
    assert process.read_only


@EVERY
def test_a_process_has_time_to_stop(process: Process) -> None:
    assert process.grace_s > STOP_S


def test_processes_that_share_a_database_share_no_other_state() -> None:
    shared = [each for each in processes() if "FINDSPOT_DATABASE_URL" in each.variables]
    assert len(shared) == 4
    for process in shared:
        assert process.variables["FINDSPOT_ENGINE"] == "turbopuffer"
        assert "FINDSPOT_TOKEN" in process.variables, "each process would make an owner's token of its own"
        assert ("--no-worker" in process.arguments) is process.is_api


def test_no_secret_is_written_in_a_file() -> None:
    assert not set(image_variables()) & SECRETS
    assert not set(manifests()["ConfigMap", "findspot"]["data"]) & SECRETS
    for service in compose()["services"].values():
        for name, value in service["environment"].items():
            assert name not in SECRETS or re.search(r"\$\{\w+:\?\}", value)
    for pod in pods().values():
        for variable in pod["containers"][0]["env"]:
            assert variable["valueFrom"]["secretKeyRef"]["name"] == "findspot"
            assert f"--from-file={variable['valueFrom']['secretKeyRef']['key']}" in PAGE
    for name in UNITS:
        assert not any(secret in unit(name)["Service"]["Environment"] for secret in SECRETS)


# ── images ──


def images() -> Iterator[str]:
    arguments = dict(rest.split("=", 1) for name, rest in instructions() if name == "ARG")
    for name, rest in instructions():
        if name == "FROM":
            yield re.sub(r"\$\{(\w+)\}", lambda found: arguments[found[1]], rest.split()[0])
    yield from (service["image"] for service in compose()["services"].values())
    yield from (pod["containers"][0]["image"] for pod in pods().values())


def test_every_image_has_a_tag_that_does_not_change_its_major_version() -> None:
    assert len(list(images())) == 8
    for image in images():
        assert re.search(r":\d+[\w.-]*$", image), f"{image} has no version"


def test_the_image_is_the_same_version_everywhere() -> None:
    version = re.search(r'^version = "(.*)"$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert version
    assert {image for image in images() if image.startswith("findspot")} == {f"findspot:{version[1]}"}
    assert load("kubernetes/kustomization.yaml")[0]["images"] == [{"name": "findspot", "newTag": version[1]}]


def test_the_image_is_built_from_files_that_exist_and_hashed_packages() -> None:
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text(encoding="utf-8").split("\n")
    for name, rest in instructions():
        if name == "COPY" and not rest.startswith("--from"):
            for source in rest.split()[:-1]:
                assert (ROOT / source).exists(), f"COPY {source}"
                assert f"!{source.rstrip('/')}" in ignored or f"!{source.partition('/')[0]}" in ignored, source
        if name == "RUN" and "pip install" in rest:
            assert "--require-hashes" in rest or ("--no-deps" in rest and "--no-index" in rest)
        if name == "RUN":
            assert not re.search(r"https?://|--index-url|--registry", rest), "package hosts come from the environment"
    lock = (ROOT / "requirements" / "image.txt").read_text(encoding="utf-8")
    assert re.search(r"^turbopuffer==3\.", lock, re.MULTILINE)
    assert "://" not in lock


def test_the_image_has_the_locked_packages_that_everyone_runs() -> None:
    def pinned(name: str) -> set[str]:
        text = (ROOT / "requirements" / name).read_text(encoding="utf-8")
        return {line.split(" ")[0] for line in text.splitlines() if "==" in line}

    assert pinned("run.txt") <= pinned("image.txt")


# ── ports and probes ──


def test_every_port_is_the_default_port() -> None:
    port = str(Settings.model_fields["port"].default)
    assert last_stage()["EXPOSE"] == port
    assert f":{port}/healthz" in last_stage()["HEALTHCHECK"]
    assert compose()["services"]["api"]["ports"] == [f"127.0.0.1:{port}:{port}"]
    (named,) = pods()["findspot-api"]["containers"][0]["ports"]
    assert str(named["containerPort"]) == port
    assert manifests()["Service", "findspot"]["spec"]["ports"][0]["targetPort"] == named["name"]


def test_probes_ask_open_routes() -> None:
    (container,) = pods()["findspot-api"]["containers"]
    probes = {name: container[name]["httpGet"] for name in ("startupProbe", "livenessProbe", "readinessProbe")}
    assert {name: probe["path"] for name, probe in probes.items()} == {
        "startupProbe": "/healthz",
        "livenessProbe": "/healthz",
        "readinessProbe": "/readyz",
    }
    for probe in probes.values():
        assert RULES[f"GET {probe['path']}"] is OPEN
        assert probe["port"] == container["ports"][0]["name"]
    assert "/healthz" in last_stage()["HEALTHCHECK"]


def test_a_pod_stops_after_its_service_has_forgotten_it() -> None:
    pod = pods()["findspot-api"]
    wait = pod["containers"][0]["lifecycle"]["preStop"]["exec"]["command"]
    assert wait[0] == "sleep"
    assert pod["terminationGracePeriodSeconds"] >= int(wait[1]) + STOP_S


# ── Kubernetes ──


@pytest.mark.parametrize("name", ["findspot-api", "findspot-worker"])
def test_a_deployment_is_selected_scaled_and_protected_as_one(name: str) -> None:
    deployment = manifests()["Deployment", name]["spec"]
    labels = deployment["template"]["metadata"]["labels"]
    assert deployment["selector"]["matchLabels"] == labels
    assert "replicas" not in deployment, "the autoscaler decides"
    scaler = manifests()["HorizontalPodAutoscaler", name]["spec"]
    assert scaler["scaleTargetRef"] == {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
    assert 1 <= scaler["minReplicas"] < scaler["maxReplicas"]
    assert "cpu" in deployment["template"]["spec"]["containers"][0]["resources"]["requests"], (
        "the signal is a share of it"
    )
    assert manifests()["PodDisruptionBudget", name]["spec"]["selector"]["matchLabels"] == labels


@pytest.mark.parametrize("pod", list(pods().values()), ids=pods())
def test_a_pod_fits_the_restricted_security_standard(pod: dict[str, Any]) -> None:
    (container,) = pod["containers"]
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"]["allowPrivilegeEscalation"] is False
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert not pod["automountServiceAccountToken"]
    assert not pod["enableServiceLinks"], "the Service 'findspot' would set FINDSPOT_PORT to an address"
    assert set(container["resources"]["requests"]) == {"cpu", "memory"}
    assert "memory" in container["resources"]["limits"]
    mounted = {each["mountPath"]: each["name"] for each in container["volumeMounts"]}
    assert set(mounted) == {str(image_variables()["FINDSPOT_DATA"]), "/tmp"}
    assert {each["name"] for each in pod["volumes"]} == set(mounted.values())


def test_the_service_finds_the_api_and_nothing_else() -> None:
    selector = manifests()["Service", "findspot"]["spec"]["selector"]
    labels = {
        name: each["spec"]["template"]["metadata"]["labels"]
        for (kind, name), each in manifests().items()
        if kind == "Deployment"
    }
    assert [name for name, given in labels.items() if selector.items() <= given.items()] == ["findspot-api"]


# ── databases, units and the page ──


def test_the_database_has_enough_connections() -> None:
    services = compose()["services"]
    api = services["api"]["command"]
    count = {"api": int(api[api.index("--workers") + 1]), "worker": services["worker"]["deploy"]["replicas"]}
    (allowed,) = [int(each.partition("=")[2]) for each in services["database"]["command"] if "max_connections" in each]
    assert sum(count[role] * CONNECTIONS[role] for role in count) < allowed
    most = {role: manifests()["HorizontalPodAutoscaler", f"findspot-{role}"]["spec"]["maxReplicas"] for role in count}
    need = sum(most[role] * CONNECTIONS[role] for role in most)
    assert f"{CONNECTIONS['api']} connections per API process and {CONNECTIONS['worker']} per worker" in PAGE
    assert f"{most['api']} API processes and {most['worker']} workers need {need}" in PAGE


@pytest.mark.parametrize("name", UNITS)
def test_a_unit_is_confined_to_its_state_folder(name: str) -> None:
    service = unit(name)["Service"]
    folder = f"/var/lib/{service['StateDirectory']}"
    assert service["WorkingDirectory"] == folder
    assert f"FINDSPOT_DATA={folder} " in service["Environment"] + " "
    switched_on = (
        "NoNewPrivileges",
        "ProtectHome",
        "PrivateTmp",
        "PrivateDevices",
        "ProtectKernelModules",
        "RestrictNamespaces",
    )
    assert all(service[each] == "yes" for each in switched_on)
    assert service["CapabilityBoundingSet"] == ""
    assert service["KillMode"] == "mixed", "helper processes end with their parent"
    assert "ReadWritePaths" not in service


def test_the_page_names_metrics_and_settings_that_exist() -> None:
    families = [
        family for each in (metrics.REGISTRY, metrics.STORE_REGISTRY, Metrics().registry) for family in each.collect()
    ]
    known = {name for family in families for name in (family.name, f"{family.name}_total")}
    rows = re.findall(r"^\| .*`/metrics`", PAGE, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`([a-z]+(?:_[a-z]+)+)`", row)}
    assert len(named) == 6
    assert named <= known
    settings = {field.alias for field in Settings.model_fields.values()}
    assert set(re.findall(r"\b(?:FINDSPOT|TURBOPUFFER)_[A-Z_]+\b", PAGE)) <= settings
