"""A pipeline over a table: bad rows apart, the answers beside the columns of the source. Needs the extra `batch`.

python samples/batch/table.py
"""

import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import torch

import tracepack

folder = Path(tempfile.mkdtemp())

# A model, packed with the function around it.
head = tracepack.script(torch.nn.Linear(4, 3))


def classify(x):
    """The most likely label of each row."""
    probabilities = head(x).softmax(-1)
    best = probabilities.max(-1)
    return {"label": best.indices, "score": best.values}


mod = tracepack.trace(classify, torch.rand(2, 4))
mod.save(folder / "classify.tpk")

# A table with two bad rows.
rows = torch.rand(1000, 4).tolist()
rows[10], rows[20] = None, [1.0, 2.0]
pq.write_table(pa.table({"name": [f"row {i}" for i in range(1000)], "numbers": rows}), folder / "rows.parquet")

done = tracepack.batch.run(
    folder / "classify.tpk", folder / "rows.parquet", folder / "answers", map={"x": "numbers"}, id="name"
)
print(f"{done.rows} rows, {done.errors} bad rows")
for row in pq.read_table(done.errors_path).to_pylist():
    print(f"  {row['id']}: {row['error']}")

answers = pq.read_table(done.target)
print("columns:", ", ".join(answers.column_names))
x = torch.tensor(answers["numbers"].to_pylist())
labels = torch.tensor(answers["label"].to_pylist())
print("as the model in this process:", bool((head(x).softmax(-1).argmax(-1) == labels).all()))

again = tracepack.batch.run(
    folder / "classify.tpk", folder / "rows.parquet", folder / "answers", map={"x": "numbers"}, id="name"
)
print("started again, it computes", again.computed, "rows")
