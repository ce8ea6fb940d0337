"""A board whose storage is slower than the baseline fails the test; see docs/labs.md."""
import os

import pytest

PATH = os.environ.get("ASSAY_PATH", "/tmp")
WORDS = os.environ.get("ASSAY_WORDS", "--quick").split()


def test_storage_is_not_slower(strategy):
    """Compares a new run with the run that is named `base`."""
    strategy.transition("ready")
    run = strategy.assay.qualify(PATH, *WORDS)
    verdict, text = strategy.assay.compare("base", run)
    print(text)
    if verdict == "no conclusion":
        pytest.skip(f"no conclusion\n{text}")
    assert verdict == "passed", text
