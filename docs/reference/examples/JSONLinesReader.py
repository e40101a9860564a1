import pyflowdata as flow

with open("train.jsonl", "w") as file:
    file.write('{"text": "caf\\u00e9", "meta": {"lang": "fr"}, "ids": [1, 2]}\n')
    file.write('{"text": "tea", "ids": []}\n')

text, lang, ids = flow.JSONLinesReader(
    files="train.jsonl", fields=["text:str", "meta.lang:str=en", "ids:int64[?]"], batch_size=2
)
with flow.DataLoader(text, lang, ids) as loader:
    for texts, langs, numbers in loader:
        print([one.tobytes().decode() for one in texts], [one.tobytes() for one in langs])
        print([one.tolist() for one in numbers])

# ['café', 'tea'] [b'fr', b'en']
# [[1, 2], []]
