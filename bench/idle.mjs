import { startLoopbackServer } from './measure/start-loopback-server.mjs'
import { median, quantile } from './measure/statistics.mjs'

const native = {
  Date,
  random: Math.random,
  fetch: globalThis.fetch,
}
const nativeNow = performance.now.bind(performance)
const { install } = await import('@retake/engine')

/**
 * What a process pays that has Retake loaded and records nothing.
 *
 * @param {{ quick: boolean }} options
 * @returns {Promise<import('./measure/row.mjs').Row[]>}
 */
export async function measure({ quick }) {
  install()
  const rounds = quick ? 20 : 400
  const method = `lower quartile of ${rounds} rounds of ${CALLS} calls in turns`
  const row = (name, loops, gate) => {
    const { patchedNs, plainNs } = compareLoops(loops, rounds)
    const numbers = `${patchedNs.toFixed(0)} ns against ${plainNs.toFixed(0)} ns`
    return {
      name: `${name}, no run active / native`,
      ratio: patchedNs / plainNs,
      method: `${method}; ${numbers}`,
      ...(gate && { gate }),
    }
  }
  return [
    row('Date.now', loops.dateNow, { max: 1.2 }),
    row('Math.random', loops.random),
    row('new Date()', loops.newDate),
    await compareFetch(quick ? 10 : 60),
  ]
}

const CALLS = 20_000

/** Each loop is a function of its own, so that no call site sees two callees. */
const loops = {
  dateNow: {
    patched: () => {
      let sum = 0
      for (let call = 0; call < CALLS; call++) sum += Date.now()
      return sum
    },
    plain: () => {
      let sum = 0
      for (let call = 0; call < CALLS; call++) sum += native.Date.now()
      return sum
    },
  },
  random: {
    patched: () => {
      let sum = 0
      for (let call = 0; call < CALLS; call++) sum += Math.random()
      return sum
    },
    plain: () => {
      let sum = 0
      for (let call = 0; call < CALLS; call++) sum += native.random()
      return sum
    },
  },
  newDate: {
    patched: () => {
      let sum = 0
      for (let call = 0; call < CALLS; call++) sum += new Date().getTime()
      return sum
    },
    plain: () => {
      let sum = 0
      for (let call = 0; call < CALLS; call++) sum += new native.Date().getTime()
      return sum
    },
  },
}

function compareLoops({ patched, plain }, rounds) {
  const times = { patched: [], plain: [] }
  const time = (loop, into) => {
    const started = nativeNow()
    loop()
    into.push(((nativeNow() - started) * 1e6) / CALLS)
  }
  for (let round = 0; round < rounds; round++) {
    if (round % 2 === 0) time(patched, times.patched)
    time(plain, times.plain)
    if (round % 2 !== 0) time(patched, times.patched)
  }
  return { patchedNs: quantile(times.patched, 0.25), plainNs: quantile(times.plain, 0.25) }
}

async function compareFetch(rounds) {
  const server = await startLoopbackServer()
  const perRound = 20
  const times = { patched: [], plain: [] }
  const run = async (fetch, into) => {
    for (let count = 0; count < perRound; count++) {
      const started = nativeNow()
      await fetch(`${server.url}/json`).then((response) => response.json())
      into.push(nativeNow() - started)
    }
  }
  for (let round = 0; round < rounds; round++) {
    if (round % 2 === 0) await run((...args) => fetch(...args), times.patched)
    await run((...args) => native.fetch(...args), times.plain)
    if (round % 2 !== 0) await run((...args) => fetch(...args), times.patched)
  }
  await server.stop()
  const [patchedMs, plainMs] = [median(times.patched), median(times.plain)]
  return {
    name: 'fetch, no run active / native',
    ratio: patchedMs / plainMs,
    method: `p50 of ${rounds} rounds of ${perRound} in turns, JSON from the loopback; ${patchedMs.toFixed(2)} ms against ${plainMs.toFixed(2)} ms`,
  }
}
