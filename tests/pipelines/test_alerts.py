"""Alerts of failed runs and stale datasets, sent to a real webhook and mail server on this machine."""

import errno
import json
import os
import subprocess
import threading
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer

import dagster as dg
import pytest
from aiosmtpd.controller import Controller
from dagster._core.remote_origin import RegisteredCodeLocationOrigin

from assets.external import all_feeds
from assets.feeds.factory import feed_asset
from local_servers.server import free_port
from pipelines.alerts import (
    stale_datasets,
    tell_of_failures,
    tell_of_missing_answers,
    tell_of_stale_datasets,
    tell_of_untold,
)
from pipelines.commands.tell import NO_RUN
from pitlake import clock
from pitlake.errors import NotifyFailed
from pitlake.lake.lake import Lake
from resources.lake import LakeResource
from resources.notifier import Notifier
from tests.cli.conftest import article
from tests.kit import publish
from tests.providers.server import Loopback, Reply


@pytest.fixture
def webhook():
    """A webhook: (URL, list of received bodies, server)."""
    arrived = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            arrived.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(self.server.status)
            self.end_headers()

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        server.status = 200
        threading.Thread(target=server.serve_forever).start()
        yield f"json://someone:s3cret@127.0.0.1:{server.server_port}/", arrived, server
        server.shutdown()


@pytest.fixture
def mailbox():
    class Mailbox:
        def __init__(self):
            self.letters = []

        async def handle_DATA(self, _server, _session, envelope):  # noqa: N802 - the name that aiosmtpd calls
            self.letters.append(envelope)
            return "250 OK"

    box = Mailbox()
    port = free_port()
    controller = Controller(box, hostname="127.0.0.1", port=port)
    controller.start()
    yield f"mailto://127.0.0.1:{port}?from=lake@example.org&to=someone@example.org&mode=insecure", box.letters
    controller.stop()


def test_an_alert_goes_to_every_channel(webhook, mailbox, caplog):
    (hook, arrived, _), (mail, letters) = webhook, mailbox
    Notifier(channels=f"log {hook} {mail}").send("title", "what happened")
    assert (arrived[0]["title"], arrived[0]["message"]) == ("title", "what happened")
    assert (letters[0].rcpt_tos, b"what happened" in letters[0].content) == (["someone@example.org"], True)
    assert "title: what happened" in caplog.text


def test_a_failing_channel_is_named_without_credentials_and_stops_no_other_channel(webhook, caplog):
    hook, arrived, server = webhook
    server.status = 500
    with pytest.raises(NotifyFailed, match=r"json://127\.0\.0\.1") as reply:
        Notifier(channels=f"{hook} log").send("title", "what happened")
    assert len(arrived) == 1
    assert "title: what happened" in caplog.text
    assert "s3cret" not in str(reply.value) + caplog.text


@pytest.mark.parametrize("channel", ["carrier-pigeon://s3cret@loft", "jsons://[s3cret/x", "s3cret", "join://s3cret"])
def test_an_invalid_channel_is_reported_last_and_stops_no_other_channel(channel, monkeypatch, caplog):
    monkeypatch.setenv("PITLAKE_NOTIFY", f"{channel} log")
    with pytest.raises(NotifyFailed, match=r"channel 1.*no channel that apprise knows.*PITLAKE_NOTIFY") as reply:
        Notifier().send("title", "what happened")
    assert "title: what happened" in caplog.text
    assert "s3cret" not in str(reply.value) + caplog.text


@pytest.mark.parametrize(
    ("channel", "message"),
    [
        ("jsons://someone:s3cret@hooks.example:8443/s3cret?token=s3cret", "jsons://hooks.example"),
        ("mailtos://user:s3cret@mail.example?to=a@b.example", "mailtos://mail.example"),
        ("json://someone:s3/cret@host/", "channel 2 of kind json"),
        ("json://someone:s3@cret@host/", "channel 2 of kind json"),
        ("prowl://s3cret", "channel 2 of kind prowl"),
        ("slack://s3cret/A1BRTD4JD/token", "channel 2 of kind slack"),
        ("tgram://123:s3cret/1", "channel 2 of kind tgram"),
        ("s3cret:more", "channel 2"),
    ],
)
def test_a_channel_is_reported_without_any_part_that_may_be_a_key(channel, message, monkeypatch):
    monkeypatch.setattr("pitlake.notify._sent", lambda each, _title, _body: "" if each == "log" else "not delivered")
    with pytest.raises(NotifyFailed) as reply:
        Notifier(channels=f"log {channel}").send("title", "body")
    assert str(reply.value) == f"no alert went through {message} (not delivered); see PITLAKE_NOTIFY"


@dg.op
def refuse():
    raise dg.Failure("news: check gate failed (PIT_MISSING_TZ=3); nothing was published")


@dg.op
def blab():
    raise ValueError("password=s3cret")


@dg.op
def write():
    raise OSError(errno.ENOSPC, "Error writing s3cret. Detail: [errno 28] No space left on device")


@pytest.fixture
def tell(webhook, instance):
    """A function that evaluates a sensor for a finished run, as the daemon does. lake: where incidents are stored."""

    def tell(sensor, result, event, lake):
        root = str(getattr(lake, "root", lake))
        resources = {"notifier": Notifier(channels=webhook[0]), "lake": LakeResource(root=root)}
        run = result.dagster_run
        context = dg.build_run_status_sensor_context(sensor.name, event, instance, run, resources=resources)
        sensor(context.for_run_failure() if sensor is tell_of_failures else context)

    return tell


def failed(op, instance):
    job = dg.GraphDefinition(name="work", node_defs=[op]).to_job()
    return job.execute_in_process(instance=instance, raise_on_error=False)


@pytest.mark.parametrize(
    ("op", "says"),
    [
        (refuse, "refuse: news: check gate failed (PIT_MISSING_TZ=3); nothing was published"),
        (blab, "blab: ValueError"),
        (write, "write: OSError (No space left on device)"),
    ],
)
def test_a_failed_run_is_alerted_with_its_reason_and_no_private_data(op, says, webhook, instance, tell, tmp_path):
    lake, result = Lake(tmp_path / "lake"), failed(op, instance)
    tell(tell_of_failures, result, result.get_run_failure_event(), lake)
    tell(tell_of_failures, result, result.get_run_failure_event(), lake)
    assert [alert["message"].splitlines() for alert in webhook[1]] == [[says, f"run {result.run_id}"]]
    (remaining,) = lake.incidents()
    assert (remaining.run_id, remaining.job, remaining.kind, remaining.reasons) == (
        result.run_id,
        "work",
        "failed",
        (says,),
    )
    assert abs(remaining.happened_at - clock.now()) < timedelta(minutes=1)
    assert "s3cret" not in json.dumps(webhook[1]) + str(remaining)


def test_a_failed_run_without_a_code_location_is_alerted_by_the_daemons_sensor(webhook, instance, tmp_path):
    """Covers runs of `dg launch`, which executes a job in its own process."""
    resources = {"notifier": Notifier(channels=webhook[0]), "lake": LakeResource(root=str(tmp_path / "lake"))}
    repository = dg.Definitions(sensors=[tell_of_failures], resources=resources).get_repository_def()
    origin = RegisteredCodeLocationOrigin("pitlake")

    def tick(cursor):
        context = dg.SensorEvaluationContext(
            None, cursor=cursor, repository_name=repository.name, repository_def=repository, instance=instance,
            resources=repository.get_top_level_resources(), code_location_origin=origin,
        )  # fmt: skip
        with context:
            return tell_of_failures.evaluate_tick(context).cursor

    cursor = tick(None)
    result = failed(refuse, instance)
    tick(cursor)
    assert [alert["message"].splitlines()[1] for alert in webhook[1]] == [f"run {result.run_id}"]


def test_a_failed_run_is_alerted_only_once_without_a_daemon(webhook, instance, tmp_path):
    runs = {failed(op, instance).run_id for op in (refuse, blab)}
    for _ in range(2):
        tell_of_untold(instance, LakeResource(root=str(tmp_path / "lake")), Notifier(channels=webhook[0]))
    assert sorted(alert["message"].splitlines()[1] for alert in webhook[1]) == sorted(f"run {run}" for run in runs)


def test_make_run_sends_an_alert_if_it_cannot_begin(webhook, root, tmp_path):
    settings = {"NEO4J_URI": "nonsense", "PITLAKE_NOTIFY": webhook[0], "DAGSTER_HOME": str(tmp_path / "home")}
    command = ["make", "-s", "run", "DAYS=2024-01-01...2024-01-02"]
    done = subprocess.run(command, cwd=root, env=os.environ | settings, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert [(alert["title"], alert["message"]) for alert in webhook[1]] == [("pitlake: make run failed", NO_RUN)]
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("root", ["{}", "gs://bucket/lake"])
def test_an_unwritable_lake_does_not_stop_an_alert(root, webhook, instance, tell, tmp_path, caplog):
    (tmp_path / "lake").write_text("no folder")
    result = failed(refuse, instance)
    tell(tell_of_failures, result, result.get_run_failure_event(), root.format(tmp_path / "lake"))
    assert result.run_id in webhook[1][0]["message"]
    assert "the report will not show run" in caplog.text


@pytest.mark.parametrize("status", [200, 429])
def test_a_successful_run_with_unanswered_requests_is_alerted(status, webhook, instance, tell, tmp_path, monkeypatch):
    lake = Lake(tmp_path / "lake")
    monkeypatch.setattr("resources.http.client.time.sleep", lambda _: None)
    monkeypatch.setenv("FRED_API_KEY", "s3cret-of-the-tests")
    with Loopback() as provider:
        provider.behave(None if status == 200 else lambda _ask, _reply: Reply(429, b"{}"))
        for name, value in provider.settings().items():
            monkeypatch.setenv(name, value)
        result = dg.materialize(
            [feed_asset(all_feeds()["macro_observations"])],
            instance=instance,
            resources={"lake": LakeResource(root=str(lake.root))},
            run_config={"ops": {"macro_observations": {"config": {"mode": "refresh", "series": ["GDP"]}}}},
        )
    assert result.success
    tell(tell_of_missing_answers, result, result.get_run_success_event(), lake)
    reply = [alert["message"].splitlines() for alert in webhook[1]]
    if status == 200:
        assert reply == list(lake.incidents()) == []
        return
    says = "macro_observations: HTTP 429 × 1, unanswered × 1"
    assert reply == [[says, f"run {result.run_id}"]]
    (remaining,) = lake.incidents()
    assert (remaining.kind, remaining.reasons) == ("unanswered", (says,))
    assert "s3cret" not in json.dumps(webhook[1]) + str(remaining)


def test_a_stale_dataset_is_alerted_only_once_until_it_gets_new_rows(tmp_path, webhook, instance):
    hook, arrived, _ = webhook
    lake = Lake(tmp_path / "lake")
    old = clock.now() - timedelta(days=30)
    publish(lake, "news", [article(1, "Old", old)], "one")
    assert [name for name, _ in stale_datasets(lake, clock.now())] == ["news"]
    cursor = None
    for day in (0, 0, 20):
        if day:
            publish(lake, "news", [article(2, "Newer", old + timedelta(days=day))], "two")
        with dg.build_sensor_context(
            instance=instance,
            cursor=cursor,
            resources={"lake": LakeResource(root=str(lake.root)), "notifier": Notifier(channels=hook)},
        ) as context:
            tell_of_stale_datasets(context)
            cursor = context.cursor
    assert len(arrived) == 2
    publish(lake, "news", [article(3, "Fresh", clock.now() - timedelta(hours=1))], "three")
    assert list(stale_datasets(lake, clock.now())) == []
