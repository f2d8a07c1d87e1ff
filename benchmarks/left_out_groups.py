"""What does leaving groups out cost compared with leaving single examples out?"""

import numpy as np
from _measure import best_times, report, size

from mercer import KernelDependencyCV
from mercer.kernels import RBF
from mercer.operators import Covariance, Identity

groups, members = size((50, 40), (30, 30))
n = groups * members
rng = np.random.default_rng(0)
X = rng.normal(size=(n, 20))
Y = np.sin(X[:, :10]) + 0.1 * rng.normal(size=(n, 10))
which = np.repeat(np.arange(groups), members)
for operator in (Identity(), Covariance()):
    model = KernelDependencyCV(RBF(4.0) * operator, alphas=np.logspace(-6, 1, 20))
    contestants = {
        "one example": lambda model=model: model.fit(X, Y),
        "groups": lambda model=model: model.fit(X, Y, groups=which),
    }
    question = f"{groups} groups of {members}, 20 ridges, {type(operator).__name__}"
    report(question, best_times(contestants, 3), "one example", "at most 3")
