import pyarrow
import pyflowdata as flow

table = pyarrow.table({"text": ["a", "bc", None], "n": [1, 2, 3]})
data = flow.from_arrow(table)   # makes an ArrowTableReader
print(data.fields["n"].type, [row["text"] for row in data])
print(flow.from_arrow(table, columns=["text:bytes=none"])[2])

# int64 [b'a', b'bc', b'']
# {'text': b'none'}
