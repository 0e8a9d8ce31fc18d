/**
 * Fits which step of a run is the labelled one: P(step) ∝ exp(w · features), each
 * run a choice among its own steps. Ridge penalty, Newton's method; features are
 * scaled by their spread in the training runs.
 *
 * @typedef {{ rows: Float64Array[], label: number }} Choice
 */

/** @param {readonly Choice[]} choices @returns {Float64Array} weights of unscaled features */
export function fitLogit(choices, penalty) {
  const size = choices[0].rows[0].length
  const scale = spreadOf(choices, size)
  const scaled = choices.map(({ rows, label }) => ({
    label,
    rows: rows.map((row) => row.map((value, f) => value * scale[f])),
  }))
  let weights = new Float64Array(size)
  let loss = lossOf(scaled, weights, penalty)
  for (let round = 0; round < 30; round++) {
    const { gradient, hessian } = slopes(scaled, weights, penalty)
    const step = solve(hessian, gradient)
    let factor = 1
    let next
    let nextLoss
    do {
      const taken = factor
      next = weights.map((weight, f) => weight - taken * step[f])
      nextLoss = lossOf(scaled, next, penalty)
      factor /= 2
    } while (nextLoss > loss && factor > 1e-4)
    const gain = loss - nextLoss
    if (gain <= 0) break
    weights = next
    loss = nextLoss
    if (gain < 1e-6 * (1 + Math.abs(loss))) break
  }
  return weights.map((weight, f) => weight * scale[f])
}

/** Probabilities of the steps of one run. @returns {number[]} */
export function choose(rows, weights) {
  const scores = rows.map((row) => dot(row, weights))
  const top = Math.max(...scores)
  const masses = scores.map((score) => Math.exp(score - top))
  const total = masses.reduce((sum, mass) => sum + mass, 0)
  return masses.map((mass) => mass / total)
}

const dot = (left, right) => {
  let sum = 0
  for (let f = 0; f < left.length; f++) sum += left[f] * right[f]
  return sum
}

/** One over the standard deviation within runs; 0 for what never differs. */
function spreadOf(choices, size) {
  const sums = new Float64Array(size)
  let count = 0
  for (const { rows } of choices) {
    for (let f = 0; f < size; f++) {
      const mean = rows.reduce((sum, row) => sum + row[f], 0) / rows.length
      for (const row of rows) sums[f] += (row[f] - mean) ** 2
    }
    count += rows.length
  }
  return sums.map((sum) => (sum < 1e-9 ? 0 : 1 / Math.sqrt(sum / count)))
}

function lossOf(choices, weights, penalty) {
  let loss = (penalty / 2) * dot(weights, weights)
  for (const { rows, label } of choices) loss -= Math.log(choose(rows, weights)[label])
  return loss
}

function slopes(choices, weights, penalty) {
  const size = weights.length
  const gradient = weights.map((weight) => penalty * weight)
  const hessian = Array.from({ length: size }, (_, f) => {
    const line = new Float64Array(size)
    line[f] = penalty
    return line
  })
  const mean = new Float64Array(size)
  for (const { rows, label } of choices) {
    const masses = choose(rows, weights)
    mean.fill(0)
    for (const [i, row] of rows.entries()) {
      for (let f = 0; f < size; f++) mean[f] += masses[i] * row[f]
    }
    for (let f = 0; f < size; f++) gradient[f] += mean[f] - rows[label][f]
    for (const [i, row] of rows.entries()) {
      const mass = masses[i]
      // The curve may be rough where nothing weighs; the slope stays exact.
      if (mass < 1e-3) continue
      for (let f = 0; f < size; f++) {
        const off = mass * (row[f] - mean[f])
        const line = hessian[f]
        for (let g = 0; g <= f; g++) line[g] += off * (row[g] - mean[g])
      }
    }
  }
  return { gradient, hessian }
}

/** Solves for a symmetric positive matrix of which the lower half is given (Cholesky, in place). */
function solve(matrix, right) {
  const size = right.length
  for (let i = 0; i < size; i++) {
    for (let j = 0; j <= i; j++) {
      let sum = matrix[i][j]
      for (let k = 0; k < j; k++) sum -= matrix[i][k] * matrix[j][k]
      matrix[i][j] = i === j ? Math.sqrt(Math.max(sum, 1e-12)) : sum / matrix[j][j]
    }
  }
  const out = Float64Array.from(right)
  for (let i = 0; i < size; i++) {
    for (let k = 0; k < i; k++) out[i] -= matrix[i][k] * out[k]
    out[i] /= matrix[i][i]
  }
  for (let i = size - 1; i >= 0; i--) {
    for (let k = i + 1; k < size; k++) out[i] -= matrix[k][i] * out[k]
    out[i] /= matrix[i][i]
  }
  return out
}
