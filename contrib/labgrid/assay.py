"""assay in a labgrid: a driver that measures the storage of a board, and a strategy that brings
the board to where it can be measured.

An environment loads it by `imports: [assay.py]`. It needs the program assay on this machine, and
on the board an ssh server; nothing is installed there.
"""
import enum
import json
import subprocess

import attr

from labgrid.driver import Driver
from labgrid.factory import target_factory
from labgrid.step import step
from labgrid.strategy import Strategy, StrategyError

SLOWER = 3  # exit code of `assay compare --gate`


@target_factory.reg_driver
@attr.s(eq=False)
class AssayDriver(Driver):
    """Measures a board by `assay qualify --on ssh://`, and compares runs.

    The place stays acquired by labgrid meanwhile, so the board is named by its NetworkService:
    assay refuses `--on labgrid:PLACE` for places that somebody else holds.
    """

    bindings = {"service": "NetworkService"}

    # The file with all runs; "": the one in the user's home.
    store = attr.ib(default="", validator=attr.validators.instance_of(str))
    # Seconds after which a run or a comparison is ended.
    limit = attr.ib(default=3600, validator=attr.validators.instance_of(int))

    @Driver.check_active
    @step(args=["path", "words"], result=True)
    def qualify(self, path, *words):
        """Measures what `path` names on the board. Returns the run's id."""
        service = self.service
        port = service.port or 22
        board = f"ssh://{service.username}@{service.address}:{port}"
        # An address may belong to another board tomorrow, a place does not.
        unit = ["--unit", service.parent.name] if service.parent else []
        out = self._assay("qualify", path, "--on", board, *unit, *words, "--json").stdout
        return json.loads(out)["run"]["id"]

    @Driver.check_active
    @step(args=["base", "new"], result=True)
    def compare(self, base, new, *words):
        """Compares two runs.

        Returns the verdict on them (`slower`, `no conclusion`, or `passed`: all that decides is
        faster or equivalent) and the comparison in words.
        """
        compare = ["compare", base, new, *words]
        judged = json.loads(self._assay(*compare, "--json").stdout)
        gate = self._assay(*compare, "--gate", "--format", "text", passes=(0, SLOWER))
        words_of = [pair["verdict"] for pair in judged["pairs"] if pair["primary"]]
        if gate.returncode == SLOWER:
            verdict = "slower"
        elif not words_of or "no conclusion" in words_of:
            verdict = "no conclusion"
        else:
            verdict = "passed"
        return verdict, gate.stdout

    def _assay(self, *words, passes=(0,)):
        """Runs the program that `tools` of the environment names."""
        tool = self.target.env.config.get_tool("assay") if self.target.env else "assay"
        command = [tool, *words] + (["--store", self.store] if self.store else [])
        ended = subprocess.run(
            command, capture_output=True, text=True, timeout=self.limit, check=False
        )
        for line in ended.stderr.splitlines():
            self.logger.info("assay: %s", line)
        if ended.returncode not in passes:
            raise RuntimeError(f"{' '.join(command)}: {ended.returncode}\n{ended.stderr}")
        return ended


class Status(enum.Enum):
    """States of a board."""

    unknown = 0
    off = 1
    ready = 2


@target_factory.reg_driver
@attr.s(eq=False)
class AssayStrategy(Strategy):
    """Boots a board until it answers by ssh. A board without a switched power port is taken as
    it runs."""

    bindings = {"power": {"PowerProtocol", None}, "ssh": "SSHDriver", "assay": "AssayDriver"}

    status = attr.ib(default=Status.unknown)

    @step(args=["status"])
    def transition(self, status, *, step):  # pylint: disable=redefined-outer-name
        """Brings the board to a state."""
        status = status if isinstance(status, Status) else Status[status]
        if status == self.status:
            step.skip("nothing to do")
        elif status == Status.off:
            if not self.power:
                raise StrategyError("the board has no power port")
            self.target.deactivate(self.assay)
            self.target.deactivate(self.ssh)
            self.target.activate(self.power)
            self.power.off()
        elif status == Status.ready:
            if self.power:
                self.target.activate(self.power)
                self.power.cycle()
            # Tries again until `connection_timeout` of the SSHDriver.
            self.target.activate(self.ssh)
            self.target.activate(self.assay)
        else:
            raise StrategyError(f"no way from {self.status} to {status}")
        self.status = status
