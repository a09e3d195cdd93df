# -- releases ------------------------------------------------------------------------------------------------------------
private_mean <- function(A, public = NULL, epsilon, ..., center = NULL, radius = NULL, relation = "related",
                         points = NULL, missing = NULL, slide = NULL, slide_by = "bending", delta = NULL, ledger = NULL,
                         dataset = NULL, out = NULL) {
  plainly({
    known <- known_of(public, center, radius, relation, points, missing, slide, slide_by, A)
    given <- c(known["data"], known["region"])
    released(pay("private_mean", given, epsilon, delta, ledger, dataset, out, ...))
  })
}

compare_groups <- function(A, groups, public = NULL, epsilon, ..., center = NULL, radius = NULL, relation = "related",
                           points = NULL, missing = NULL, slide = NULL, slide_by = "bending", delta = NULL, ledger = NULL,
                         dataset = NULL, out = NULL) {
  plainly({
    known <- known_of(public, center, radius, relation, points, missing, slide, slide_by, A)
    given <- c(known["data"], list(as.list(as.character(groups))), known["region"])
    compared(pay("compare_groups", given, epsilon, delta, ledger, dataset, out, ...))
  })
}

regress <- function(A, covariate, public = NULL, epsilon, limits = NULL, ..., center = NULL, radius = NULL,
                    relation = "related", points = NULL, missing = NULL, slide = NULL, slide_by = "bending", delta = NULL,
                    ledger = NULL, dataset = NULL, out = NULL) {
  plainly({
    known <- known_of(public, center, radius, relation, points, missing, slide, slide_by, A)
    given <- c(known["data"], list(as.list(as.numeric(covariate))), known["region"])
    within <- if (!is.null(limits)) do.call(reticulate::tuple, as.list(as.numeric(limits)))
    regressed(pay("private_regression", given, epsilon, delta, ledger, dataset, out, limits = within, ...))
  })
}

plan <- function(public = NULL, n, epsilon, ..., center = NULL, radius = NULL, relation = "related", points = NULL,
                 missing = NULL, slide = NULL, slide_by = "bending", delta = NULL) {
  plainly({
    known <- known_of(public, center, radius, relation, points, missing, slide, slide_by)
    rows <- do.call(python()$plan, c(list(known$region, n = as.integer(n), ...), price(epsilon, delta)))
    field <- function(name, none) {
      sapply(seq_along(rows) - 1L, function(i) if (is.na(value <- number(rows[i][[name]]))) none else value)
    }
    numbers <- sapply(c("median_error", "error_95", "noise_95", "gain", "directions"), field, none = NA_real_,
                      simplify = FALSE)
    data.frame(mechanism = field("mechanism", ""), numbers, useless = field("useless", NA), refusal = field("refusal", ""))
  })
}

release_tps <- function(x, file) {
  if (is.null(x$value)) stop("a release of private_mean() has a value to write, not ", class(x)[1], call. = FALSE)
  plainly(python()$write_points(path.expand(file), to_python(x$value), "landmarks"))
  invisible(file)
}

# -- public knowledge and specimens --------------------------------------------------------------------------------------
known_of <- function(public, center, radius, relation, points, missing, slide, slide_by, A = NULL) {
  sf <- python()
  if (!is.null(missing) && !identical(missing, "estimate")) {
    stop("missing = \"estimate\" estimates landmarks that are NA; set codes to NA first, as A[A == -999] <- NA")
  }
  curves <- if (!is.null(points)) as.integer(points)
  rows <- if (is.character(slide)) sf$read(path.expand(slide), missing = "none")
  rows <- if (is.null(rows) && !is.null(slide)) to_python(as.matrix(slide)) else rows
  ready <- function(array) { # each specimen by itself, from what is public; the record says that it was asked for
    said <- if (is.list(shapes_in(A)) && !is.null(points)) reticulate::dict(curves = curves) else reticulate::dict()
    data <- sf$Dataset(array, "landmarks", prepared = said)
    if (!is.null(missing)) data <- sf$estimate_missing(data, reference)
    if (is.null(rows)) data else sf$slide(data, reference, rows, by = slide_by)
  }
  if (is.character(public) && grepl("\\.json$", public)) {
    region <- sf$load_region(path.expand(public))
    reference <- region$space$present(region$center)
    first <- to_r(reference)
  } else {
    file <- if (is.character(public)) sf$read(path.expand(public), curves = curves, missing = missing)
    if (!is.null(file)) public <- aperm(to_r(file$points), c(2, 3, 1))
    if (is.null(public) && (is.null(center) || is.null(radius))) {
      stop("say what is publicly known of where the specimens lie: public = specimens that anyone may see, ",
           "or center = one public specimen, and radius")
    }
    first <- first_of(if (is.null(public)) center else public)
    known <- specimens(if (is.null(public)) list(first) else public, points, first)
    space <- if (ncol(known) == 2) sf$PlanarShapes(nrow(known)) else sf$Shapes3D(nrow(known))
    reference <- to_python(if (is.null(public)) known[, , 1] else known)
    region <- if (!is.null(public)) sf$Ellipsoid$from_sample(space, ready(reference), relation) else
      sf$Ball(space, reference, as.numeric(radius))
  }
  list(region = region, data = if (!is.null(A)) ready(to_python(specimens(A, points, first))))
}

shapes_in <- function(A) {
  if (is.list(A) && !is.null(A[["coords"]])) return(A[["coords"]]) # geomorph
  if (is.list(A) && !is.null(A[["coo"]])) return(A[["coo"]]) # Momocs
  A
}

first_of <- function(A) {
  A <- shapes_in(A)
  if (is.list(A)) as.matrix(A[[1]]) else if (length(dim(A)) == 3) A[, , 1] else A
}

# p x k x n: each outline of a list is resampled by itself, beside a public one
specimens <- function(A, points, reference) {
  A <- shapes_in(A)
  if (is.list(A)) {
    A <- lapply(A, function(one) unname(as.matrix(one)))
    sizes <- range(vapply(A, nrow, 1L))
    if (sizes[1] < sizes[2] && is.null(points)) {
      stop("outlines of ", sizes[1], " to ", sizes[2], " points: say how many each is to get, as points = 100")
    }
    if (!is.null(points)) {
      rows <- unname(lapply(A, to_python)) # a named list would be a dictionary
      made <- python()$resample_outlines(rows, as.integer(points), to_python(as.matrix(reference)))
      return(aperm(to_r(made), c(2, 3, 1)))
    }
    A <- simplify2array(A)
  }
  if (length(dim(A)) != 3 || !dim(A)[2] %in% 2:3 || !is.numeric(A)) {
    stop("specimens are a p x k x n array (landmarks, 2 or 3 dimensions, specimens), a geomorph data frame, or a Coo")
  }
  A
}

# -- between R and Python ------------------------------------------------------------------------------------------------
python <- function() {
  if (!reticulate::py_module_available("sfumato")) {
    stop("the Python package sfumato is not found by ", reticulate::py_config()$python,
         ": set RETICULATE_PYTHON to the Python of the environment that has it, before R starts")
  }
  reticulate::import("sfumato", convert = FALSE)
}

# As lists of numbers, which every version of reticulate and NumPy exchanges to the last bit; specimens come first in Python
to_python <- function(A) {
  order <- if (length(dim(A)) == 3) c(3, 1, 2) else seq_along(dim(A))
  numbers <- as.list(as.double(aperm(A, rev(order))))
  numpy <- reticulate::import("numpy", convert = FALSE)
  numpy$array(numbers)$reshape(do.call(reticulate::tuple, as.list(dim(A)[order])))
}

to_r <- function(array) {
  array <- reticulate::import("numpy", convert = FALSE)$asarray(array)
  size <- unlist(reticulate::py_to_r(array$shape))
  numbers <- unlist(reticulate::py_to_r(array$ravel()$tolist()))
  aperm(array(numbers, rev(size)), rev(seq_along(size)))
}

number <- function(x) if (is.null(value <- reticulate::py_to_r(x))) NA else value

listed <- function(x) reticulate::py_to_r(reticulate::import_builtins(FALSE)$list(x))

price <- function(epsilon, delta)
  if (is.null(delta)) list(epsilon = as.numeric(epsilon)) else list(privacy = python()$ApproxDP(epsilon, delta))

pay <- function(name, given, epsilon, delta, ledger, dataset, out, ...) {
  sf <- python()
  more <- lapply(list(...), function(x) if (is.factor(x)) as.character(x) else x)
  more <- c(unname(given), price(epsilon, delta), more)
  budget <- if (!is.null(ledger)) sf$Ledger(path.expand(ledger), dataset)
  if (is.null(out)) return(do.call(sf[[name]], c(more, list(budget = budget))))
  if (file.exists(out) || !dir.exists(dirname(out))) stop(out, " exists already, or its folder does not: choose another")
  path <- reticulate::import("pathlib", convert = FALSE)$Path(path.expand(out))
  do.call(sf$Session(path, budget)$run, c(list(sf[[name]]), more))
}

# A sentence in place of a traceback; Python counts records from 0
plainly <- function(expr) {
  tryCatch(expr, error = function(e) {
    last <- reticulate::py_last_error()
    words <- conditionMessage(e)
    if (!is.null(last) && nzchar(last$value) && grepl(last$value, words, fixed = TRUE)) words <- last$value
    row <- regmatches(words, regexec("\\b(record|outline) ([0-9]+)", words))[[1]]
    if (length(row)) words <- sub(row[1], paste("specimen", as.numeric(row[3]) + 1), words, fixed = TRUE)
    stop(gsub("=True\\b", " = TRUE", words), call. = FALSE)
  })
}

# -- results -------------------------------------------------------------------------------------------------------------
result <- function(kind, python, ...) structure(list(..., python = python), class = c(kind, "sfumato_result"))

released <- function(release) {
  result("sfumato_release", release, value = to_r(release$value), center = to_r(release$ball$center),
         error = number(release$error(0.95)), noise = number(release$noise(0.95)), gain = number(release$gain),
         n = number(release$n), epsilon = number(release$guarantee$epsilon))
}

compared <- function(found) {
  names <- unlist(listed(found$groups$keys()))
  every <- lapply(names, function(name) to_r(found$groups[[name]]$value))
  pairs <- lapply(listed(found$pairs), unlist)
  tests <- lapply(pairs, function(pair) found$difference(pair[1], pair[2]))
  test <- function(name) sapply(tests, function(one) number(one[[name]]))
  table <- data.frame(first = sapply(pairs, `[`, 1), second = sapply(pairs, `[`, 2), p_value = test("p_value"),
                      adjusted = test("adjusted"), differs = test("differs"))
  result("sfumato_comparison", found, value = array(unlist(every), c(dim(every[[1]]), length(names)),
         list(NULL, NULL, names)), pairs = table, omnibus = number(found$omnibus), epsilon = number(found$epsilon))
}

regressed <- function(found) {
  if (reticulate::py_has_attr(found, "groups")) {
    names <- unlist(listed(found$groups$keys()))
    return(setNames(lapply(names, function(name) regressed(found$groups[[name]])), names))
  }
  result("sfumato_regression", found, at = function(value) plainly(to_r(found$at(as.numeric(value)))),
         p_value = number(found$p_value), changes = number(found$changes), n = number(found$n),
         values = unlist(number(found$values)))
}

print.sfumato_result <- function(x, ...) {
  cat(strwrap(unlist(reticulate::py_to_r(x$python$view$in_short(x$python)))), sep = "\n")
  invisible(x)
}

summary.sfumato_result <- function(object, ...) {
  cat(reticulate::py_to_r(object$python$describe()), "\n")
  invisible(object)
}

# -- pictures ------------------------------------------------------------------------------------------------------------
draw <- function(shapes, links, main, sub, radius = NULL, ...) {
  colours <- rep_len(c("grey55", palette.colors(8)[c(6, 7, 4, 8, 2, 3, 1)]), length(shapes))
  marks <- rep_len(c(1, 16, 17, 15, 18, 8, 3, 4), length(shapes))
  every <- do.call(rbind, shapes)
  sides <- if (ncol(every) == 2) list(1:2) else list(1:2, c(1, 3), 2:3)
  old <- par(mfrow = c(1, length(sides)))
  on.exit(par(old))
  for (side in sides) {
    plot.default(every[, side], type = "n", asp = 1, xlab = c("x", "y", "z")[side[1]], ylab = c("x", "y", "z")[side[2]], main = main, sub = sub, bty = "n", ...)
    for (i in seq_along(shapes)) {
      one <- shapes[[i]][, side]
      if (!is.null(links)) {
        segments(one[links[, 1], 1], one[links[, 1], 2], one[links[, 2], 1], one[links[, 2], 2], col = colours[i])
      }
      if (i == length(shapes) && !is.null(radius)) {
        symbols(one, circles = rep(radius, nrow(one)), inches = FALSE, add = TRUE, fg = colours[i])
      }
      points(one, pch = marks[i], col = colours[i], cex = 0.7)
    }
  }
  legend("topright", names(shapes), pch = marks, col = colours, bty = "n")
}

plot.sfumato_release <- function(x, links = NULL, ...) {
  words <- sprintf("95%% error %.3g; circles: if all landmarks share it evenly", x$error)
  draw(list("public centre" = x$center, "released mean" = x$value), links, "Private mean", words,
       x$error / sqrt(nrow(x$value)), ...)
}

plot.sfumato_comparison <- function(x, links = NULL, ...) {
  shapes <- lapply(seq_len(dim(x$value)[3]), function(i) x$value[, , i])
  center <- to_r(x$python$groups[[dimnames(x$value)[[3]][1]]]$ball$center)
  every <- c(list("public centre" = center), setNames(shapes, dimnames(x$value)[[3]]))
  draw(every, links, "Private means of groups", sprintf("test of equal means: p = %.2g", x$omnibus), ...)
}

plot.sfumato_regression <- function(x, links = NULL, ...) {
  draw(setNames(lapply(x$values, x$at), paste("at", signif(x$values, 3))), links, "Private regression", sprintf("test of no change: p = %.2g", x$p_value), ...)
}
