"""`pitlake forge skills …`: proposed changes to skills, which need the PM's approval."""

import getpass

import click

from forge.cli.desk import lake_option
from forge.cli.memories import own_desk


@click.group()
def skills() -> None:
    """Review and approve changes to skills that lessons suggest."""


@skills.command()
def propose() -> None:
    """Propose changes to skills from lessons that agree.

    A proposal needs at least five lessons from three weeks, and none that disagrees. The proposal model writes it. The
    exit code is 1 if the model wrote no proposal for a claim.
    """
    import asyncio

    from forge.evolution.proposing import describe
    from forge.evolution.proposing import propose as proposed

    own = own_desk()
    new_proposals = asyncio.run(proposed(own.agent(own.memory(), None), again=True))
    for proposal in new_proposals:
        click.echo(describe(proposal))
    if not new_proposals:
        click.echo("there is no new proposal")
    if any(proposal.status == "failed" for proposal in new_proposals):
        raise click.exceptions.Exit(1)


@skills.command()
def proposals() -> None:
    """List the proposals that wait for approval.

    For each: its lessons, patch, test and hash.
    """
    from forge.evolution.propose import lessons_of, patch, pending

    own = own_desk()
    memory = own.memory()
    waiting = pending(memory)
    for proposal in waiting:
        details = (
            f"{proposal.id}: {', '.join(proposal.links)}; written by {proposal.author}",
            f"why: {proposal.why}",
            *(f"{lesson.id}: {lesson.claim}" for lesson in lessons_of(memory, proposal)),
            f"test: {proposal.tested}",
            f"hash: {proposal.sha256}",
        )
        click.echo("\n".join([patch(proposal, own.skills), *details]))
    if not waiting:
        click.echo("nothing is waiting for approval")


@skills.command()
@click.argument("name", metavar="ID")
@lake_option
def test(name: str, lake: str | None) -> None:
    """Test a proposal by repeating decisions with the change.

    The decisions are those made after its lessons. The result is stored with the proposal.
    """
    import asyncio

    from forge.evolution.again import run_trial
    from forge.evolution.propose import pending, record_test
    from pitlake.errors import BadInput

    own = own_desk()
    memory = own.memory()
    proposal = next((proposal for proposal in pending(memory) if proposal.id == name), None)
    if proposal is None:
        raise BadInput("id", f"no proposal {name[:40]!r} waits", "see pitlake forge skills proposals")
    own.routing.model("agent")
    done = record_test(memory, proposal, str(asyncio.run(run_trial(own.agent(memory, lake), proposal))))
    memory.flush()
    click.echo(f"{done.id} {done.tested}")


@skills.command()
@click.argument("name", metavar="ID")
@click.option(
    "--hash", "sha256", required=True, help="Apply only if the changed skill has this hash, which `proposals` shows."
)
@click.option("--untested", default="", metavar="REASON", help="Apply it without a passed test, for this reason.")
def approve(name: str, sha256: str, untested: str) -> None:
    """Apply a proposal to your own folder of skills. `rollback` undoes it."""
    from forge.evolution.approve import approve as approved

    own = own_desk()
    done = approved(own.memory(), name, sha256, getpass.getuser(), own.changed_skills, untested)
    click.echo(f"{done.id} is applied: {done.skill} is {done.sha256}")


@skills.command()
@click.argument("name", metavar="ID")
@click.option("--hash", "sha256", required=True, help="Reject only if its hash is this one, which `proposals` shows.")
@click.option("--reason", required=True, help="The reason, which is stored with the proposal.")
def reject(name: str, sha256: str, reason: str) -> None:
    """Reject a proposal. The same lessons do not propose it again."""
    from forge.evolution.approve import reject as rejected

    own = own_desk()
    done = rejected(own.memory(), name, sha256, getpass.getuser(), reason)
    click.echo(f"{done.id} is rejected")


@skills.command()
@click.argument("skill")
def rollback(skill: str) -> None:
    """Undo the last change to a skill."""
    from forge.evolution.approve import rollback as rolled_back

    own = own_desk()
    sha256 = rolled_back(own.memory(), skill, getpass.getuser(), own.changed_skills)
    click.echo(f"{skill} is {sha256 if sha256 != 'none' else 'the built-in one'}")
