library(sfumato)

template <- cbind(c(0, 2, 3, 2, 0), c(0, 0, 1, 2, 2)) # public
wings <- function(n, tip) {
  made <- array(template, c(5, 2, n)) + array(rnorm(10 * n, 0, 0.08), c(5, 2, n))
  made[3, 1, ] <- made[3, 1, ] + tip
  made
}
atlas <- wings(40, tip = 0) # specimens of another species, which anyone may see: p x k x n, as geomorph has them
A <- wings(120, tip = 0.4) # private ones

plan(atlas, n = 120, epsilon = 1, relation = "other")
mean <- private_mean(A, public = atlas, epsilon = 1, relation = "other")
print(mean)
mean$value # p x k
png("r-mean.png", width = 900, height = 600, pointsize = 20)
plot(mean, links = cbind(1:5, c(2:5, 1)))
dev.off()
release_tps(mean, "mean.tps")
