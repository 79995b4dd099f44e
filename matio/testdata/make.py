"""Makes the files of npy/ and npz/ beside it. Run in this directory with NumPy and SciPy."""
import os
import warnings

import numpy as np
import scipy.sparse as sp

os.makedirs("npy", exist_ok=True)
os.makedirs("npz", exist_ok=True)

# npy: KIND-ORDER-LAYOUT.npy, the 2×3 matrix below in every type.
for kind in ["b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]:
    x = np.array([[0, 1, 2], [3, 100, 5]], dtype="f8")
    if kind[0] == "b":
        x = x > 2
    if kind[0] in "if":
        x[1, 2] = -5
    if kind[0] == "f":
        x[0, 1] = 0.1  # rounded to the type
    for order, mark in [("le", "<"), ("be", ">")]:
        if kind[1] == "1" and order == "be":
            continue
        for layout in "CF":
            y = np.array(x.astype(mark + kind), order=layout)
            np.save(f"npy/{kind}-{order}-{layout}.npy", y)

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    for version in [(2, 0), (3, 0)]:
        with open(f"npy/version{version[0]}.npy", "wb") as f:
            np.lib.format.write_array(f, np.array([[1.5, 2.5]]), version=version)
half = np.array([[0, -0.0, 5.960464477539063e-08, 6.103515625e-05, 65504, np.inf, -np.inf, np.nan]], dtype="<f2")
np.save("npy/special-f2.npy", half)
np.save("npy/special-f8.npy", np.array([[5e-324, -0.0, 1.7976931348623157e308, np.inf, -np.inf, np.nan]]))
np.save("npy/bad-complex.npy", np.zeros((2, 2), complex))
np.save("npy/bad-object.npy", np.array([[None]]), allow_pickle=True)
np.save("npy/bad-fields.npy", np.zeros((2, 2), dtype=[("a", "f8"), ("b", "i4")]))
np.save("npy/bad-text.npy", np.array([["a"]]))
np.save("npy/bad-longdouble.npy", np.zeros((1, 1), np.longdouble))
np.save("npy/bad-1d.npy", np.zeros(3))
np.save("npy/bad-3d.npy", np.zeros((1, 2, 3)))

# npz: FORMAT-INDEX.npz, one 4×6 matrix; row 2 is empty, one value is stored twice in coo, csr is stored unsorted.
dense = np.array([[1, 0, 0, 2, 0, 0], [0, 3.5, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0], [4, 0, 0, 0, 0, -5]])
for index in ["int32", "int64"]:
    for form in ["csr", "csc", "coo", "bsr"]:
        m = sp.csr_matrix(dense).asformat(form)
        if form == "bsr":
            m = sp.bsr_matrix(dense, blocksize=(2, 3))
        if form == "coo":
            m.row, m.col = m.row.astype(index), m.col.astype(index)
        else:
            m.indices, m.indptr = m.indices.astype(index), m.indptr.astype(index)
        sp.save_npz(f"npz/{form}-{index}.npz", m)
i, j, v = [0, 0, 1, 3, 3, 0], [3, 0, 1, 5, 0, 3], [1.25, 1, 3.5, -5, 4, 0.75]
sp.save_npz("npz/coo-duplicates.npz", sp.coo_matrix((v, (i, j)), shape=(4, 6)))
sp.save_npz("npz/csr-unsorted.npz", sp.csr_matrix(([2.0, 1, 3.5, -5, 4], [3, 0, 1, 5, 0], [0, 2, 3, 3, 5]), shape=(4, 6)))
sp.save_npz("npz/csr-stored.npz", sp.csr_matrix(dense), compressed=False)
sp.save_npz("npz/csr-array.npz", sp.csr_array(dense))
sp.save_npz("npz/csr-float32.npz", sp.csr_matrix(dense.astype("f4")))
sp.save_npz("npz/csr-bool.npz", sp.csr_matrix(dense != 0))
np.savez("npz/dense.npz", dense)
np.savez_compressed("npz/dense-named.npz", X=np.asfortranarray(dense))
sp.save_npz("npz/bad-dia.npz", sp.dia_matrix(np.eye(3)))
np.savez("npz/bad-two.npz", a=np.eye(2), b=np.eye(2))
