"""A Debian 12 that has just been installed, without Python: a folder made by debootstrap, entered by chroot."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
BASE = ROOT / "build" / "clean-root"
"""Made once; each test has a layer of its own above it."""
SUITE = "bookworm"
USER, HOME = "volunteer", "home/volunteer"
DESKTOP = ["ca-certificates", "dbus-daemon", "desktop-file-utils", "procps", "shared-mime-info", "xdg-utils"]
"""What every desktop has."""
OF_THE_NETWORK = ("resolv.conf", "hosts")


class CleanRoot:
    """Commands in it, as root or as its one user.

    Args:
        path: its folder.
        display: the name of the screen that its programs are shown on.
    """

    def __init__(self, path: Path, display: str) -> None:
        self.path, self.home = path, path / HOME
        self._display = display

    def command(self, *words: str, user: str = USER, **more: str) -> list[str]:
        """How to run a command in it, without anything of this process's environment.

        Args:
            words: the command.
            user: who runs it.
            more: further variables.
        """
        home = "/root" if user == "root" else f"/{HOME}"
        variables = {"HOME": home, "USER": user, "LANG": "C.UTF-8", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
        if user == USER:
            runtime = "/run/user/1000"
            variables |= {"DISPLAY": self._display, "XDG_SESSION_TYPE": "x11", "XDG_RUNTIME_DIR": runtime}
            variables |= {"DBUS_SESSION_BUS_ADDRESS": f"unix:path={runtime}/bus", "XDG_CURRENT_DESKTOP": "X-Generic"}
        given = [f"{name}={value}" for name, value in (variables | more).items()]
        return ["chroot", f"--userspec={user}:{user}", str(self.path), "env", "-i", *given, *words]

    def run(self, *words: str, user: str = USER, **more: str) -> str:
        """Run a command to its end; what it printed.

        Raises:
            CalledProcessError: it failed.
        """
        done = subprocess.run(
            self.command(*words, user=user, **more), capture_output=True, text=True, timeout=600, check=False
        )
        assert done.returncode == 0, f"{words}: {done.stdout[-2000:]} {done.stderr[-2000:]}"
        return done.stdout

    def files(self, below: str) -> set[str]:
        """The names of all files below one of its folders."""
        top = self.path / below
        return {str(path.relative_to(top)) for path in top.rglob("*") if not path.is_dir() or path.is_symlink()}


@contextlib.contextmanager
def clean_root(folder: Path, display: str) -> Iterator[CleanRoot]:
    """One that lasts as long as the block.

    Args:
        folder: for what is written in it.
        display: as of `CleanRoot`.
    """
    if not (BASE / "ready").exists():
        _make_base()
    root, upper, work = (folder / name for name in ("root", "upper", "work"))
    for path in (root, upper, work):
        path.mkdir()
    with contextlib.ExitStack() as stack:
        _mount(stack, root, "-t", "overlay", "overlay", "-o", f"lowerdir={BASE},upperdir={upper},workdir={work}")
        _mount_system(stack, root)
        runtime = root / "run/user/1000"
        runtime.mkdir(parents=True)
        os.chown(runtime, 1000, 1000)
        runtime.chmod(0o700)
        yield CleanRoot(root, display)


def _make_base() -> None:
    """A new Debian with what every desktop has, and its user."""
    shutil.rmtree(BASE, ignore_errors=True)
    subprocess.run(["debootstrap", "--variant=minbase", SUITE, str(BASE)], stdout=subprocess.DEVNULL, check=True)
    for name in OF_THE_NETWORK:
        shutil.copy(Path("/etc", name), BASE / "etc" / name)
    for name in ("apt.conf.d", "sources.list.d"):
        shutil.copytree(Path("/etc/apt", name), BASE / "etc/apt" / name, dirs_exist_ok=True)
    (BASE / "usr/sbin/policy-rc.d").write_text("#!/bin/sh\nexit 101\n")  # no services in here
    (BASE / "usr/sbin/policy-rc.d").chmod(0o755)
    with contextlib.ExitStack() as stack:
        _mount_system(stack, BASE)
        made = CleanRoot(BASE, "")
        made.run("useradd", "--create-home", "--uid", "1000", USER, user="root")
        made.run("apt-get", "update", user="root")
        made.run("apt-get", "install", "-y", *DESKTOP, user="root", DEBIAN_FRONTEND="noninteractive")
    (BASE / "ready").touch()


def _mount_system(stack: contextlib.ExitStack, root: Path) -> None:
    _mount(stack, root / "proc", "-t", "proc", "proc")
    _mount(stack, root / "dev", "--rbind", "/dev")
    _mount(stack, root / "sys", "--rbind", "/sys")


def _mount(stack: contextlib.ExitStack, at: Path, *words: str) -> None:
    subprocess.run(["mount", *words, str(at)], check=True)
    stack.callback(subprocess.run, ["umount", "--lazy", "--recursive", str(at)], check=False)
    # What is unmounted in here later stays mounted out there.
    subprocess.run(["mount", "--make-rslave", str(at)], check=True)
