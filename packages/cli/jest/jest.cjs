/** Replay in Jest: requiring this adds `expect(agent).toReplay(tape)`; `tape` replays a function. */
const { expect } = require('@jest/globals')
const { tapeFunction, toReplay } = require('./door.cjs')

const testPath = () => expect.getState().testPath

expect.extend({
  toReplay(agent, tape, options) {
    return toReplay({ testPath: testPath(), isNot: this.isNot }, agent, tape, options)
  },
})

exports.expect = expect
exports.tape = tapeFunction(testPath)
