"""What is released agrees with itself: versions, dependencies, extras, workflows."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

import mercer

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_versions_agree():
    assert f"## {mercer.__version__}" in (ROOT / "CHANGELOG.md").read_text()
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"]
    recipe = re.search(r'version = "(.*?)"', (ROOT / "conda" / "meta.yaml").read_text())[1]
    assert str(cited) == recipe == mercer.__version__


def recipe():
    text = (ROOT / "conda" / "meta.yaml").read_text()
    text = "\n".join(line for line in text.splitlines() if not line.startswith("{%"))
    return yaml.safe_load(re.sub(r"\{\{ (\w+) \}\}", r"\1", text))


def test_the_conda_recipe_asks_for_what_the_package_asks_for():
    run = [line.replace(" ", "") for line in recipe()["requirements"]["run"]]
    assert set(run) == {*PROJECT["dependencies"], f"python{PROJECT['requires-python']}"}


def test_all_is_every_extra_but_torch():
    extras = PROJECT["optional-dependencies"]
    (named,) = re.findall(r"\[(.*)\]", extras["all"][0])
    assert set(named.split(",")) == set(extras) - {"all", "torch", "docs", "dev"}


def test_messages_name_extras_that_there_are():
    for path in (ROOT / "src").rglob("*.py"):
        for module, extra in re.findall(r'require\("(\w+)", "(\w+)"\)', path.read_text()):
            assert extra in PROJECT["optional-dependencies"], (path, module)


@pytest.mark.parametrize("path", sorted((ROOT / ".github").rglob("*.yml")), ids=lambda p: p.name)
def test_github_files_are_yaml(path):
    found = yaml.safe_load(path.read_text())
    if path.parent.name == "workflows":
        assert found["permissions"] == {"contents": "read"}  # more only where a job needs it
        assert all("runs-on" in job for job in found["jobs"].values())
