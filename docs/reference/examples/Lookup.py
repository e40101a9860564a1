import pyflowdata as flow

data = flow.from_arrays({"city": ["Rome", "Paris", "Rome", "Oslo"]})
cities = flow.Vocabulary.fit(data, "city", max_size=3, unknown="<unknown>")
print(cities.words)
print([int(row) for row in flow.Lookup([b"Paris", b"Oslo"], vocabulary=cities)])

# ('<unknown>', 'Rome', 'Oslo')
# [0, 2]
