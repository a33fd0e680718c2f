"""The bundle that the tests open: TILEWRIGHT_TEST_BUNDLE, which ci/python.sh builds."""

import os

import pytest

import tilewright


@pytest.fixture(scope="session")
def path():
    return os.environ["TILEWRIGHT_TEST_BUNDLE"]


@pytest.fixture(scope="session")
def bundle(path):
    return tilewright.open(path, device="emulator")
