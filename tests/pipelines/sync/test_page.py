"""The commands of docs/real-lake.md run unchanged on a fake EDGAR and produce the lake that the page describes."""

import os
import re
import subprocess
import sys
from pathlib import Path

from pitlake.lake.lake import Lake
from tests.cli.conftest import ROOT
from tests.pipelines.sync.edgar import made
from tests.pipelines.sync.test_bulk import zipped

BLOCK = re.compile(r"^```sh\n(.*?)^```", re.DOTALL | re.MULTILINE)
PYTHON = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
REAL = {"AAPL": 320193, "MSFT": 789019, "NVDA": 1045810}


def test_the_commands_on_the_page_run_unchanged(edgar, tmp_path):
    edgar.companies = made(len(REAL))
    for company, (ticker, cik) in zip(edgar.companies, REAL.items(), strict=True):
        company.filings, company.facts = [], {}
        company.cik, company.tickers = cik, (ticker,)
        for year in (2015, 2016):
            for quarter in range(1, 5):
                company.reports(year, quarter)
    edgar.publish()
    zipped(tmp_path, edgar.companies)
    command = f"#!{sys.executable}\nfrom pitlake.cli import main\nif __name__ == '__main__':\n    main()\n"
    (tmp_path / "pitlake").write_text(command)
    (tmp_path / "pitlake").chmod(0o755)
    script = "set -e\n" + "\n".join(BLOCK.findall((ROOT / "docs/real-lake.md").read_text()))
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    question = {"cwd": tmp_path, "env": environment, "capture_output": True, "text": True}
    done = subprocess.run(["bash", "-c", script], check=False, **question)
    assert done.returncode == 0, done.stderr
    assert "115.82" in done.stdout
    assert "us-gaap:Concept0" in done.stdout
    code = "\n".join(PYTHON.findall((ROOT / "docs/real-lake.md").read_text()))
    python = question | {"env": environment | {"PITLAKE_LAKE": str(tmp_path / "lake")}}
    done = subprocess.run([sys.executable, "-c", code], check=False, **python)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "panel.parquet").exists()
    lake = Lake(Path(tmp_path / "lake"))
    assert list(lake.watch_list().companies) == [f"{cik:010d}" for cik in sorted(REAL.values())]
