# SPDX-License-Identifier: BSD-3-Clause
"""Who gets which kind of namespace, and what is said where there are none."""

import os
from pathlib import Path

import pytest

from weft.launch.virtual import permission


def status(tmp_path: Path, capabilities: str) -> Path:
    """Write a ``/proc/self/status``."""
    path = tmp_path / "status"
    path.write_text(f"Name:\tpython\nCapPrm:\t000001ffffffffff\nCapEff:\t{capabilities}\n")
    return path


def test_the_capability_is_read_from_the_effective_set(tmp_path: Path) -> None:
    admin = permission.CAP_SYS_ADMIN
    assert permission.has_capability(permission.effective_capabilities(status(tmp_path, "000001ffffffffff")), admin)
    # what Docker gives to root in a container: no CAP_SYS_ADMIN
    assert not permission.has_capability(permission.effective_capabilities(status(tmp_path, "00000000a80425fb")), admin)


@pytest.mark.parametrize(
    ("user", "capabilities", "mapped"),
    [(0, 1 << permission.CAP_SYS_ADMIN, False), (0, 0, True), (1000, 0, True), (1000, 1 << 21, True)],
)
def test_only_real_root_goes_without_a_user_namespace(
    user: int, capabilities: int, mapped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: user)
    monkeypatch.setattr(permission, "effective_capabilities", lambda: capabilities)
    words = permission.unshare_command()
    assert ("--user" in words) is mapped
    assert {"--net", "--uts", "--ipc", "--mount", "--pid", "--kill-child"} <= set(words)


@pytest.mark.parametrize(("user", "words"), [(0, "apt install"), (1000, "sudo apt install")])
def test_a_missing_command_is_named_with_its_package(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, user: int, words: str
) -> None:
    monkeypatch.setattr(permission, "SEARCH", str(tmp_path))
    monkeypatch.setattr("os.geteuid", lambda: user)
    assert permission.forbidden().startswith(
        "unshare, nsenter, ip, tc, hostname not found (package hostname, iproute2, util-linux"
    )
    assert permission.remedy() == f"{words} hostname iproute2 util-linux"


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("user.max_user_namespaces", "0", "sudo sysctl -w user.max_user_namespaces=28633, or run as root"),
        ("kernel.unprivileged_userns_clone", "0", "sudo sysctl -w kernel.unprivileged_userns_clone=1, or run as root"),
        (
            "kernel.apparmor_restrict_unprivileged_userns",
            "1",
            "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or run as root",
        ),
    ],
)
def test_the_switch_that_forbids_is_named(name: str, value: str, wanted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(permission, "_setting", lambda asked: value if asked == name else "")
    assert permission.remedy() == wanted
