"""``python -m benchmarks.flower``: three clients of Flower's simulation contribute to one study, and the server adds up.

Needs ``pip install 'flwr[simulation]'`` (tried with 1.41) in an environment of its own: it pins packages that we also use.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

import sfumato as sf
from sfumato.findings.sites import Part, Study

SITES = ("lisbon", "oslo", "rome")
REGION = sf.Ball(sf.Euclidean(dim=4), np.zeros(4), radius=1.0)


def prepare(folder: Path) -> Study:
    """Make keys, ledgers and records of each site, and the public plan."""
    rng = np.random.default_rng(0)
    keys = {}
    for name in SITES:
        keys[sf.SiteKey.create(folder / f"{name}.key", name)] = 300
        sf.Ledger.create(folder / f"{name}.ledger", epsilon=1)
        np.save(folder / f"{name}.npy", rng.normal(0.2, 0.2, (300, 4)))
    study = Study.of(REGION, keys, trusted=2, epsilon=1.0)
    study.save(folder / "study.json")
    return study


def main() -> None:
    """Run the simulation, and print what was released."""
    from flwr.app import ConfigRecord, Context, Message, RecordDict
    from flwr.clientapp import ClientApp
    from flwr.serverapp import Grid, ServerApp
    from flwr.simulation import run_simulation

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        code = prepare(folder).code
        client, server = ClientApp(), ServerApp()
        released = []

        @client.query()  # type: ignore[untyped-decorator]
        def contribute(message: Message, context: Context) -> Message:
            """Contribute at a site: all that leaves it is the text of its part."""
            site = SITES[int(context.node_config["partition-id"])]
            study = Study.load(folder / "study.json")  # and ``agreed`` was typed at the site
            budget = sf.Ledger(folder / f"{site}.ledger")
            part = study.contribute(np.load(folder / f"{site}.npy"), f"{folder}/{site}.key", budget, agreed=code)
            return Message(RecordDict({"part": ConfigRecord({"json": part.to_json()})}), reply_to=message)

        @server.main()  # type: ignore[untyped-decorator]
        def add_up(grid: Grid, context: Context) -> None:
            """Ask every site, and add up their parts."""
            nodes = list(grid.get_node_ids())
            while len(nodes) < len(SITES):
                nodes = list(grid.get_node_ids())
            asked = [Message(RecordDict(), dst_node_id=node, message_type="query") for node in nodes]
            replies = [reply.content["part"]["json"] for reply in grid.send_and_receive(asked)]
            release = Study.load(folder / "study.json").combine(map(Part.from_json, replies))
            release.save(folder / "mean.json")
            released.append(release.sha256)

        run_simulation(server, client, num_supernodes=len(SITES))
        release = sf.Release.load(folder / "mean.json")
        print(release.describe())
        left = {site: str(sf.Ledger(folder / f"{site}.ledger").left) for site in SITES}
        print(f"Left of each ledger: {left}; released {released}")


if __name__ == "__main__":
    main()
