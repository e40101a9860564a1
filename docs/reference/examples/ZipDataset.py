import pyflowdata as flow

data = flow.from_arrays({"x": range(6)})
other = flow.from_arrays({"y": [i * i for i in range(6)]})
print({name: int(value) for name, value in data.zip(other)[3].items()})

# {'x': 3, 'y': 9}
