"""The contracts of all datasets: one module per dataset, each with one `DATASET`. The file name is the dataset's name.

To add a dataset, add a file here; no registration is needed.
"""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from pitlake.aliases import meant
from pitlake.contract import Dataset
from pitlake.errors import BadInput, choice


@cache
def all_datasets() -> dict[str, Dataset]:
    """Return every contract, by dataset name, in alphabetical order."""
    datasets: dict[str, Dataset] = {}
    for name in sorted(module.name for module in iter_modules(__path__) if not module.name.startswith("_")):
        dataset = import_module(f"{__name__}.{name}").DATASET
        if dataset.name != name:
            raise ValueError(f"pitlake/datasets/{name}.py describes a dataset called {dataset.name!r}")
        datasets[name] = dataset
    return datasets


def get(name: str) -> Dataset:
    """Return the contract of a dataset, by its name or an alias. Raises BadInput, which lists the datasets."""
    try:
        return all_datasets()[meant(name)]
    except KeyError:
        raise BadInput(
            "dataset", f"there is no dataset {name!r}", choice(name, all_datasets(), "pitlake datasets")
        ) from None
