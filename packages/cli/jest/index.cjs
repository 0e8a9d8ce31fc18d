/** `retake` inside a Jest test: the engine that lives outside, in `retake/jest-environment`. */
const { retake } = require('./door.cjs')

// One by one, so that `import { record } from 'retake'` finds the names.
exports.answerFrom = retake.answerFrom
exports.defineConfig = retake.defineConfig
exports.eachWithin = retake.eachWithin
exports.fork = retake.fork
exports.openTape = retake.openTape
exports.placesFrom = retake.placesFrom
exports.readRun = retake.readRun
exports.record = retake.record
exports.replay = retake.replay
exports.ReplayDiverged = retake.ReplayDiverged
exports.rerun = retake.rerun
exports.resume = retake.resume
exports.RetakeError = retake.RetakeError
exports.TapeError = retake.TapeError
exports.tool = retake.tool
exports.within = retake.within
