import pyflowdata as flow

class Squares:
    def __len__(self):
        return 5

    def __getitem__(self, i):
        return i, i * i

i, square = flow.GeneratorReader(
    Squares(), fields=["i:int64", "square:int64"], batch_size=5, shuffle="global", seed=1
)
with flow.DataLoader(i, square) as loader:
    for numbers, squares in loader:
        print((numbers**2 == squares).all(), sorted(squares.tolist()))

# True [0, 1, 4, 9, 16]
