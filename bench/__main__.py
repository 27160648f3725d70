"""`make bench`: runs every benchmark, or those named as arguments. Exits with 1 if a bound is exceeded."""

import sys

from bench import embedding, foundation, importing, index_workers, mcp

BENCHMARKS = {
    "foundation": foundation.run,
    "importing": importing.run,
    "embedding": embedding.run,
    "mcp": mcp.run,
    "index_workers": index_workers.run,
}


def main(names: list[str]) -> int:
    held = True
    for name in names or list(BENCHMARKS):
        print(name)
        report = BENCHMARKS[name]()
        report.write()
        held = held and report.holds
    return 0 if held else 1


sys.exit(main(sys.argv[1:]))
