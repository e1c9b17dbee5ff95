"""deploy/: Celery has the settings of Postgres and a launcher. The manifests are complete and contain no secrets."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from dagster._core.instance.ref import InstanceRef

from tests.every import every

BROKER = {"CELERY_BROKER_URL": "redis://:S3cret@broker/0", "CELERY_RESULT_BACKEND": "redis://:S3cret@broker/0"}
HOUSE = ("pitlake-webserver", "pitlake-daemon", "pitlake-worker")


@pytest.fixture(scope="module")
def folder(root):
    return root / "deploy/kubernetes"


@pytest.fixture(scope="module")
def kustomization(folder) -> dict:
    return yaml.safe_load((folder / "kustomization.yaml").read_text())


@pytest.fixture(scope="module")
def objects(folder, kustomization) -> list[dict]:
    return [each for name in kustomization["resources"] for each in yaml.safe_load_all((folder / name).read_text())]


def of(objects, kind) -> dict[str, dict]:
    return {each["metadata"]["name"]: each for each in objects if each["kind"] == kind}


def containers(objects):
    for deployment in of(objects, "Deployment").values():
        pod = deployment["spec"]["template"]["spec"]
        for container in pod["containers"]:
            yield deployment["metadata"]["name"], pod, container


def test_celery_settings_are_the_postgres_settings_plus_a_launcher(root, tmp_path, monkeypatch):
    for name, value in BROKER.items():
        monkeypatch.setenv(name, value)
    ours = yaml.safe_load((root / "deploy/celery/dagster.yaml").read_text())
    theirs = yaml.safe_load((root / "deploy/dagster-postgres.yaml").read_text())
    del ours["run_launcher"]
    assert ours == theirs
    (tmp_path / "dagster.yaml").write_text((root / "deploy/celery/dagster.yaml").read_text())
    launcher = InstanceRef.from_dir(str(tmp_path)).run_launcher
    assert launcher.celery.conf.broker_url == BROKER["CELERY_BROKER_URL"]
    assert launcher.celery.conf.broker_transport_options["visibility_timeout"] >= 43200


def test_no_deploy_file_contains_the_brokers_password(root):
    text = "".join(path.read_text() for path in (root / "deploy").rglob("*") if path.is_file())
    assert set(re.findall(r"[a-z]+://[^\s\"]*:([^@\s/]+)@", text)) == {"$(BROKER_PASSWORD)"}
    assert not re.search(r"kind: Secret$", text, re.MULTILINE)


def test_every_secret_is_a_reference(objects):
    for _, _, container in containers(objects):
        for variable in container["env"]:
            if re.search(r"PASSWORD|KEY|USERNAME", variable["name"]):
                assert set(variable["valueFrom"]["secretKeyRef"]) == {"name", "key"}, variable["name"]


def test_containers_define_every_variable_their_settings_and_code_read(root, objects, kustomization):
    [generated] = kustomization["configMapGenerator"]
    plain = {literal.split("=", 1)[0] for literal in generated["literals"]}
    expected = set(re.findall(r"env: (\w+)", (root / "deploy/celery/dagster.yaml").read_text()))
    expected |= {
        "PITLAKE_LAKE",
        "PITLAKE_CACHE",
        "PITLAKE_REPORT",
        "NEO4J_URI",
        "NEO4J_PASSWORD",
        "AWS_SECRET_ACCESS_KEY",
    }
    for name, _, container in containers(objects):
        if name in HOUSE:
            assert {"configMapRef": {"name": generated["name"]}} in container["envFrom"]
            assert expected <= plain | {variable["name"] for variable in container["env"]}, name


def test_a_variable_is_defined_before_its_use_in_another(objects):
    for _, _, container in containers(objects):
        existing = set()
        for variable in container["env"]:
            assert set(re.findall(r"\$\((\w+)\)", variable.get("value", ""))) <= existing
            existing.add(variable["name"])


def test_pods_are_locked_down_limited_and_probed(objects):
    for name, pod, container in containers(objects):
        assert pod["automountServiceAccountToken"] is False, name
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        closed = container["securityContext"]
        assert (closed["allowPrivilegeEscalation"], closed["readOnlyRootFilesystem"]) == (False, True)
        assert closed["capabilities"] == {"drop": ["ALL"]}
        assert container["resources"]["limits"]["memory"]
        assert {"readinessProbe", "livenessProbe"} <= set(container)


def test_every_mount_and_selector_refers_to_an_existing_volume_or_pod(objects, kustomization):
    pods = of(objects, "Deployment")
    for _, pod, container in containers(objects):
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        assert {mount["name"] for mount in container["volumeMounts"]} == set(volumes)
        assert every("emptyDir" in volume for volume in volumes.values())  # everything permanent is in the lake
    for service in of(objects, "Service").values():
        labels = [pod["spec"]["template"]["metadata"]["labels"] for pod in pods.values()]
        assert any(service["spec"]["selector"].items() <= result.items() for result in labels)
        assert service["spec"].get("type", "ClusterIP") == "ClusterIP"
    for pod in pods.values():
        spec = pod["spec"]
        assert spec["selector"]["matchLabels"].items() <= spec["template"]["metadata"]["labels"].items()
    assert of(objects, "Ingress") == {}


def test_there_is_a_single_daemon_and_workers_have_time_to_finish(objects):
    deployments = of(objects, "Deployment")
    assert deployments["pitlake-daemon"]["spec"]["replicas"] == 1
    assert deployments["pitlake-daemon"]["spec"]["strategy"] == {"type": "Recreate"}
    assert deployments["pitlake-worker"]["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] >= 3600


def test_images_are_pinned_and_run_as_the_images_user(root, objects, kustomization):
    [image] = kustomization["images"]
    for name, pod, container in containers(objects):
        if name in HOUSE:
            assert container["image"] == image["name"]
            assert f"--uid {pod['securityContext']['runAsUser']} dagster" in (root / "Dockerfile").read_text()
        else:
            assert re.fullmatch(r"[\w./]+:\d[\w.]*", container["image"])
    assert image["newTag"] != "latest"


def test_commands_are_programs_of_the_locked_packages(root, objects):
    pinned = set(re.findall(r"^([\w-]+)==", (root / "requirements.lock").read_text(), re.MULTILINE))
    assert {"celery", "dagster-celery", "dagster-webserver", "redis"} <= pinned
    for name, _, container in containers(objects):
        if name in HOUSE:
            program = re.search(r"exec ([\w-]+) ", container["command"][2])[1]
            assert Path(sys.executable).with_name(program).exists(), program


@pytest.mark.long
@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_kustomize_builds_the_manifests(folder, kustomization):
    built = subprocess.run(["kubectl", "kustomize", folder], capture_output=True, text=True, timeout=60, check=True)
    objects = list(yaml.safe_load_all(built.stdout))
    [image] = kustomization["images"]
    names = {container["image"] for _, _, container in containers(objects)}
    assert f"{image['newName']}:{image['newTag']}" in names
    [config] = of(objects, "ConfigMap")
    for name, _, container in containers(objects):
        if name in HOUSE:
            assert {"configMapRef": {"name": config}} in container["envFrom"]
