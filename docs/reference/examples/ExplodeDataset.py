import numpy as np
import pyflowdata as flow

tags = flow.Ragged(np.array([5, 6, 7]), np.array([0, 2, 2, 3]))
data = flow.from_arrays({"n": range(3), "tags": tags})
print([(int(record["n"]), int(record["tags"])) for record in data.explode("tags")])

# [(0, 5), (0, 6), (2, 7)]
