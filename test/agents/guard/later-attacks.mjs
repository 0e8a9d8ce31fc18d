/**
 * Code of a tool that is run when its call is not around: by Node, at a time of its own, or by
 * whoever looks at what the tool threw. Each tries to create `world.mark`. The twin leaves the
 * same code where no guarded call is.
 */
import { AsyncResource, createHook } from 'node:async_hooks'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

const inside = ({ folder, retake }) => {
  const root = join(folder, 'inside')
  mkdirSync(root, { recursive: true })
  return retake.presets.sandbox({ root })
}
const everything = () => ({ name: 'everything' })

/** Waits until something is so, for a while. */
async function until(isSo) {
  for (let round = 0; round < 200 && !isSo(); round += 1) await pause(5)
}

/** What the tool leaves behind: it counts how often it was run, and tries to write. */
function leftBehind(world) {
  world.runs = 0
  return () => {
    world.runs += 1
    try {
      writeFileSync(world.mark, '')
    } catch (error) {
      world.refused = error.code
    }
  }
}

/**
 * `leave` puts code somewhere and returns how to take it away, `trigger` makes it run. That it
 * was run is a part of the check, or an attack would pass that was never made.
 */
const later = (name, leave, trigger) => ({
  name,
  policy: inside,
  mayPass: true,
  tool: (_, world) => {
    world.takeAway = leave(leftBehind(world), world)
  },
  check: async (world) => {
    await trigger(world)
    await until(() => world.runs > 0)
    world.takeAway?.()
    if (world.runs === 0) throw new Error('it was never run')
    return existsSync(world.mark)
  },
  twin: {
    tool: () => 'nothing',
    check: async (world) => {
      world.takeAway = leave(leftBehind(world), world)
      await trigger(world)
      await until(() => world.runs > 0)
      world.takeAway?.()
      return existsSync(world.mark)
    },
  },
})

/** What was there before the tool, and others use. */
const queue = []

/** Node's own functions that call back, inside a run that is recorded inside the tool. */
const recorded = (name, work) => ({
  name,
  policy: inside,
  mayPass: true,
  tool: async (_, world) => {
    const root = join(world.folder, 'inside')
    mkdirSync(root, { recursive: true })
    const file = join(root, 'file')
    writeFileSync(file, '')
    await world.retake.record({ name: 'inner', dir: join(root, 'runs') }, () =>
      work(file, leftBehind(world)),
    )
  },
  check: ({ runs, mark }) => {
    if (runs === 0) throw new Error('it was never run')
    return existsSync(mark)
  },
  twin: { policy: everything },
})

export const cases = [
  later(
    'a function in a queue that others work off, bound to where it was made',
    (run) => void queue.push(AsyncResource.bind(run)),
    () => queue.shift()(),
  ),
  {
    name: 'a hook that a tool with wider bounds enables meanwhile',
    policy: inside,
    code: 'PATH_OUTSIDE_ROOT',
    tool: async (_, world) => {
      await until(() => world.isEnabled)
      await pause(1)
      writeFileSync(world.mark, '')
    },
    during: (_, world) => {
      const other = world.retake.guard({ name: 'other', dir: world.folder, durability: 'process' })
      other.tool('wide', async () => {
        const hook = createHook({ init() {} }).enable()
        world.isEnabled = true
        await until(() => world.isOver)
        hook.disable()
      })
      world.other = other.call('wide', {})
    },
    check: async (world) => {
      world.isOver = true
      await world.other
      // Nobody else is taken for the tool.
      writeFileSync(join(world.folder, 'by-the-caller'), '')
      return existsSync(world.mark)
    },
    twin: { policy: everything },
  },

  recorded('pieces of the body of a request, in a run', (_, run) =>
    fetch('http://127.0.0.1:9/', {
      method: 'POST',
      duplex: 'half',
      body: (async function* () {
        run()
        yield Buffer.from('piece')
      })(),
    }).catch(() => {}),
  ),
]
