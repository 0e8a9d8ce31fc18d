/** Replay in Jest: requiring this adds `expect(agent).toReplay(tape)`; `tape` replays a function. */
const { expect } = require('@jest/globals')
const { replayProgram, tapeFunction, toReplay } = require('./door.cjs')

const running = () => {
  const { testPath, currentTestName, snapshotState } = expect.getState()
  return { testPath, currentTestName, snapshotState }
}

expect.extend({
  toReplay(agent, tape, options) {
    return toReplay({ ...running(), isNot: this.isNot }, agent, tape, options)
  },
})

exports.expect = expect
exports.tape = tapeFunction(running)
exports.replayProgram = replayProgram
