"""compose.yaml, Dockerfile and the instance settings, checked as far as possible without Docker."""

import json
import re

import pytest
import yaml
from dagster._core.instance.ref import InstanceRef

from checks.quality import FOLDER_VARIABLE
from tests.every import every


@pytest.fixture(scope="module")
def compose(root) -> dict:
    return yaml.safe_load((root / "compose.yaml").read_text())


def test_every_port_is_open_on_this_machine_only(compose):
    ports = [port for service in compose["services"].values() for port in service.get("ports", [])]
    assert ports
    assert every(port.startswith("127.0.0.1:") for port in ports)


def test_compose_takes_every_password_from_the_environment(root):
    text = (root / "compose.yaml").read_text()
    passwords = re.findall(r"PASSWORD: (.*)", text)
    assert passwords
    assert every(re.fullmatch(r"\$\{\w+:\?set \w+\}", password) for password in passwords)


def test_dagster_waits_for_its_servers_to_be_healthy(compose):
    services = compose["services"]
    for dagster in ("webserver", "daemon"):
        for needed, condition in services[dagster]["depends_on"].items():
            assert condition == {"condition": "service_healthy"}
            assert services[needed]["healthcheck"]["test"]


def test_named_volumes_and_configs_exist(compose):
    for service in compose["services"].values():
        for volume in service.get("volumes", []):
            assert volume.split(":")[0] in compose["volumes"]
        for config in service.get("configs", []):
            assert config["source"] in compose["configs"]


def test_dagster_accepts_the_container_settings(compose, root, tmp_path):
    text = (root / compose["configs"]["dagster"]["file"]).read_text()
    (tmp_path / "dagster.yaml").write_text(text)
    storage = InstanceRef.from_dir(str(tmp_path)).run_storage_data
    assert storage.module_name == "dagster_postgres"
    inputs = compose["services"]["daemon"]["environment"]
    assert set(re.findall(r"env: (\w+)", text)) <= set(inputs)


def test_dagster_accepts_the_local_settings(root, tmp_path):
    (tmp_path / "dagster.yaml").write_text((root / "dagster.yaml").read_text())
    settings = InstanceRef.from_dir(str(tmp_path)).settings
    assert settings["telemetry"] == {"enabled": False}
    assert settings["nux"] == {"enabled": False}


def test_the_image_copies_only_what_exists_and_checks_hashes(root):
    text = (root / "Dockerfile").read_text()
    assert "--require-hashes" in text
    assert (root / "requirements.lock").exists()
    assert ".venv" in (root / ".dockerignore").read_text().splitlines()


def test_the_images_user_owns_every_folder_the_services_write_to(compose, root):
    text = (root / "Dockerfile").read_text()
    [owned] = re.findall(r"chown dagster (.*)", text)
    inputs = compose["services"]["daemon"]
    output = {inputs["environment"][name] for name in ("DAGSTER_HOME", "PITLAKE_LAKE", "PITLAKE_REPORT")}
    assert output <= set(owned.split())
    mounted = {volume.split(":")[1] for volume in inputs["volumes"]}
    assert mounted == output - {inputs["environment"]["DAGSTER_HOME"]}
    assert FOLDER_VARIABLE == "PITLAKE_REPORT"


def test_the_image_starts_the_webserver_and_every_service_has_a_healthcheck(compose, root):
    text = (root / "Dockerfile").read_text()
    assert "\nHEALTHCHECK " in text
    [reply] = re.findall(r"^CMD (\[.*\])$", text, flags=re.MULTILINE)
    assert " ".join(json.loads(reply)) == compose["services"]["webserver"]["command"]
    assert every(service.get("healthcheck") for service in compose["services"].values())
