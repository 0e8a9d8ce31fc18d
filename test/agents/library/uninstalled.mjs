// What `import 'retake'`, a first run and `uninstall()` change. Its last line on stdout is JSON.
import { properties, touchLazyOnes } from './patched-places.mjs'

const changedSince = (before) => {
  const after = properties()
  return [...new Set([...before.keys(), ...after.keys()])].filter((key) => {
    const [left = {}, right = {}] = [before.get(key), after.get(key)]
    return ['value', 'get', 'set', 'writable', 'enumerable', 'configurable'].some(
      (part) => !Object.is(left[part], right[part]),
    )
  })
}

touchLazyOnes()
const native = properties()
const { record, replay, uninstall } = await import('retake')
const imported = changedSince(native)
await fetch('data:text/plain,')
// Node 20 gives promises an id, at some cost, from the first use of an AsyncLocalStorage on.
const tracked = Object.getOwnPropertySymbols(new Promise(() => {})).length
const copy = crypto.randomUUID.bind(crypto)

const agent = () => copy()
const refused = await record({ name: 'active', dir: 'runs' }, () => {
  try {
    return uninstall()
  } catch ({ code }) {
    return code
  }
})
const first = await record({ name: 'first', dir: 'runs' }, agent)
await replay(first.run.path, agent)
const recorded = changedSince(native)

uninstall()
const left = changedSince(native)
const isNative = copy() !== copy()

const again = await record({ name: 'again', dir: 'runs' }, agent)
const { output } = await replay(again.run.path, agent)
uninstall()
uninstall()
console.log(
  `\n${JSON.stringify({
    imported,
    recorded,
    refused: refused.output,
    left: [left, changedSince(native)],
    isNative,
    tracked,
    isSame: output === again.output,
  })}`,
)
