# The same numbers as in Python by the same generator, plain errors, and the order of arrays.  Needs the Python package.
library(sfumato)
if (!reticulate::py_module_available("sfumato")) {
  message("skipped: Python's sfumato is not found")
  quit(status = 0)
}
fails <- function(expr, words) {
  said <- tryCatch({ expr; "nothing failed" }, error = conditionMessage)
  if (!grepl(words, said, fixed = TRUE) || grepl("Traceback", said)) stop("expected '", words, "', got '", said, "'")
}
replay <- function(seed, expr) { # a hook of Python's tests: the package itself has no seed
  reticulate::py_run_string("import numpy as np; from sfumato.laws.sampling import replaying")
  reticulate::py_run_string(sprintf("replayed = replaying(np.random.default_rng(%d)); replayed.__enter__()", seed))
  on.exit(reticulate::py_run_string("replayed.__exit__(None, None, None)"))
  force(expr)
}
in_python <- function(code) {
  reticulate::py_run_string(paste0("import numpy as np, sfumato as sf\n", code, "\nout = np.asarray(out).ravel().tolist()"))
  reticulate::py$out
}

# the vignette, as it is written, and Python from the same files
set.seed(1)
world <- new.env()
replay(7, sys.source(system.file("doc", "sfumato.R", package = "sfumato", mustWork = TRUE), world))
for (name in c("private", "public", "A")) saveRDS(world[[name]], paste0(name, ".rds"), version = 2)
writeLines(world$sex, "sex.txt")
saveRDS(cbind(world$age), "age.rds")
rows <- function(name) sprintf("sf.read('%s.rds', sf.PlanarShapes(%d)).points", name, dim(world[[name]])[1])
expected <- in_python(paste0("
template = [[0, 0], [2, 0], [3, 1], [2, 2], [0, 2]]
private, public, A = ", paste(sapply(c("private", "public", "A"), rows), collapse = ", "), "
ball = sf.Ball(sf.PlanarShapes(5), template, 0.3)
sex = open('sex.txt').read().split()
age = [float(x) for x in sf.read('age.rds', sf.Euclidean(1)).points.ravel()]
with replaying(np.random.default_rng(7)):
    mean = sf.private_mean(private, sf.Ellipsoid.from_sample(sf.PlanarShapes(private.shape[1]), public, 'other'), 4.0)
    both = sf.compare_groups(A, sex, ball, 2.0)
    fit = sf.private_regression(A, age, ball, 2.0, limits=(18.0, 90.0))
out = [*mean.value.ravel(), mean.error(0.95), *(x for g in both.groups.values() for x in g.value.ravel()), both.omnibus,
       *fit.at(60).ravel(), fit.p_value]"))
by_rows <- function(x) as.vector(if (length(dim(x)) == 3) aperm(x, c(2, 1, 3)) else t(x))
given <- c(by_rows(world$mean_shape$value), world$mean_shape$error, by_rows(world$both$value), world$both$omnibus,
           by_rows(world$fit$at(60)), world$fit$p_value)
stopifnot(identical(given, expected), length(given) > 40)
stopifnot(!identical(replay(8, private_mean(world$private, world$public, 4, relation = "other"))$value, world$mean_shape$value))

# other ways in, one value each: geomorph data frames, outlines of Momocs, files
A <- world$A
template <- world$template
value <- function(x, ...) replay(3, private_mean(x, epsilon = 1, ...)$value)
ball <- value(A, center = template, radius = 0.3)
coo <- structure(list(coo = lapply(seq_len(dim(A)[3]), function(i) A[, , i])), class = c("Out", "Coo"))
names(coo$coo) <- paste0("leaf", seq_along(coo$coo))
stopifnot(identical(dim(ball), c(5L, 2L)), identical(value(coo, center = template, radius = 0.3), ball))
stopifnot(identical(value(list(coords = A, sex = world$sex), center = template, radius = 0.3), ball))
solid <- array(rnorm(18), c(6, 3, 300)) + array(rnorm(18 * 300, 0, 0.02), c(6, 3, 300))
stopifnot(identical(dim(value(solid, public = solid[, , 1:30] + 0.01)), c(6L, 3L)))
sf <- reticulate::import("sfumato", convert = FALSE)
sf$save_region(sf$Ball(sf$PlanarShapes(5L), lapply(1:5, function(i) template[i, ]), 0.3), "region.json")
stopifnot(identical(value(A, public = "region.json"), ball))
coo$coo[[2]] <- coo$coo[[2]][c(1, 1:5), ]
fails(value(coo, center = template, radius = 0.3), "outlines of 5 to 6 points: say how many each is to get, as points = 100")
stopifnot(identical(dim(value(coo, center = template, radius = 0.6, points = 8)), c(8L, 2L)))

# missing landmarks and semilandmarks: as in Python, from what is public, and the record says so
torn <- A
torn[2, , 7] <- torn[4, 1, 300] <- NA
known <- world$wings(30)
sliders <- cbind(before = c(1, 3), slide = c(2, 4), after = c(3, 5))
write.csv(sliders, "sliders.csv", row.names = FALSE)
for (name in c("torn", "known")) saveRDS(get(name), paste0(name, ".rds"), version = 2)
mended <- replay(5, private_mean(torn, known, 1, missing = "estimate", slide = sliders, slide_by = "distance"))
stopifnot(identical(by_rows(mended$value), in_python("
known = sf.read('known.rds').points
ready = lambda x: sf.slide(sf.estimate_missing(x, known), known, [[1, 2, 3], [3, 4, 5]], by='distance')
region = sf.Ellipsoid.from_sample(sf.PlanarShapes(5), ready(known), 'related')
with replaying(np.random.default_rng(5)):
    out = sf.private_mean(ready(sf.read('torn.rds').points), region, 1.0).value")))
stopifnot(any(grepl("estimated from 30 public specimens; 2 semilandmarks slid", capture.output(summary(mended)))))
from_file <- function(...) value(torn, center = template, radius = 0.3, missing = "estimate", ...)
stopifnot(identical(from_file(slide = "sliders.csv"), from_file(slide = sliders)), !identical(from_file(), from_file(slide = sliders)))
torn[1:3, , 9] <- NA
fails(value(torn, center = template, radius = 0.3, missing = "estimate"), "specimen 9: holds NaN")
fails(value(torn, center = template, radius = 0.3, missing = -999), "set codes to NA first")
fails(value(A, center = template, radius = 0.3, slide = cbind(1, 2, 6)), "there is no landmark 6")

# errors are sentences, before anything is charged; a ledger pays and refuses
invisible(sf$Ledger$create("study.ledger", 2))
bad <- A
bad[2, 1, 7] <- NA
fails(private_mean(bad, center = template, radius = 0.3, epsilon = 1, ledger = "study.ledger"), "specimen 7: holds NaN")
fails(private_mean(A, epsilon = 1), "say what is publicly known of where the specimens lie")
fails(private_mean(A, center = template, radius = -1, epsilon = 1), "the radius of the ball must be")
fails(private_mean(A, center = template, radius = 0.3, epsilon = 1, seed = 1), "unexpected keyword argument 'seed'")
fails(private_mean(A[, , 1:3], center = template, radius = 0.3, epsilon = 1), "allow_useless = TRUE")
paid <- private_mean(A, center = template, radius = 0.3, epsilon = 1.5, ledger = "study.ledger", out = "mean.json")
stopifnot(identical(paid$value, array(in_python("out = sf.Release.load('mean.json').value.T"), c(5, 2))))
fails(private_mean(A, center = template, radius = 0.3, epsilon = 1.5, ledger = "study.ledger"), "only 0.5 of 2 is left")
fails(private_mean(A, center = template, radius = 0.3, epsilon = 0.5, out = "mean.json"), "exists already")
release_tps(paid, "mean.tps")
stopifnot(identical(array(in_python("out = sf.read('mean.tps').points[0].T"), c(5, 2)), paid$value))
stopifnot(any(grepl("differential", capture.output(summary(paid)))), any(grepl("Released", capture.output(print(paid)))))
for (one in list(paid, world$both, world$fit)) plot(one)
