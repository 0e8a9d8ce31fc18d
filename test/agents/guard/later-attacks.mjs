/**
 * Code of a tool that is run when its call is not around: by Node, at a time of its own, or by
 * whoever looks at what the tool threw. Each tries to create `world.mark`. The twin leaves the
 * same code where no guarded call is.
 */
import { AsyncResource, createHook } from 'node:async_hooks'
import channels from 'node:diagnostics_channel'
import { EventEmitter } from 'node:events'
import { existsSync, mkdirSync, promises, writeFileSync } from 'node:fs'
import fs from 'node:fs'
import inspector from 'node:inspector'
import { join } from 'node:path'
import { PerformanceObserver, performance } from 'node:perf_hooks'
import { PassThrough } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import traceEvents from 'node:trace_events'
import v8 from 'node:v8'
import vm from 'node:vm'

v8.setFlagsFromString('--expose-gc')
const collectGarbage = vm.runInNewContext('gc')

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
const bus = new EventEmitter()
const stream = new PassThrough()
const shutdown = new AbortController()
const target = new EventTarget()
const queue = []

const onBus = (method) =>
  later(
    `a listener of an emitter that others share, with ${method}`,
    (run) => {
      bus[method]('news', run)
      return () => bus.removeListener('news', run)
    },
    () => bus.emit('news'),
  )

const onTarget = (name, add) =>
  later(name, add, () => {
    target.dispatchEvent(new Event('news'))
    shutdown.signal.dispatchEvent(new Event('abort'))
  })

const onProcess = (event, trigger, method = 'on') =>
  later(
    `a listener for ${event} of the process, with ${method}`,
    (run) => {
      process[method](event, run)
      return () => process.removeListener(event, run)
    },
    trigger,
  )

const writesWhereItMay = {
  policy: everything,
  tool: (_, world) => leftBehind(world)(),
  check: ({ mark }) => existsSync(mark),
}

/** Others that listen would believe that it is over. */
const exits = () => process.rawListeners('exit').at(-1)(0)

/** What a tool throws is looked at after it: none of its code may run then with more than it had. */
const thrown = (name, make) => ({
  name,
  policy: inside,
  status: ['failed'],
  tool: (_, world) => {
    throw make(leftBehind(world))
  },
  check: (world, { error }) => {
    for (const key of ['message', 'code', 'cause', 'errors']) String(error?.[key])
    if (world.runs === 0) throw new Error('it was never run')
    return existsSync(world.mark)
  },
  twin: writesWhereItMay,
})

const withGetter = (error, key, run) => Object.defineProperty(error, key, { get: run })

/** A way around every scope: refused under one, and as it is without. */
const around = (name, code, use) => ({
  name,
  policy: inside,
  code,
  tool: (_, world) => {
    use(world)
    writeFileSync(world.mark, '')
  },
  twin: { policy: everything },
})

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
  onProcess('exit', exits),
  onProcess('exit', exits, 'once'),
  onProcess('beforeExit', () => process.emit('beforeExit', 0), 'prependListener'),
  onProcess('warning', () => process.emitWarning('a warning of this test')),
  onProcess('rejectionHandled', () => process.emit('rejectionHandled', Promise.resolve())),
  onProcess('SIGUSR2', () => process.kill(process.pid, 'SIGUSR2')),
  onProcess('SIGUSR2', () => process.kill(process.pid, 'SIGUSR2'), 'prependOnceListener'),
  ...['on', 'addListener', 'once', 'prependListener', 'prependOnceListener'].map(onBus),
  later(
    'a listener of a stream that others write to',
    (run) => {
      stream.on('data', run)
      return () => stream.removeListener('data', run)
    },
    () => stream.write('news'),
  ),
  onTarget('a listener of an abort signal of others', (run) => {
    shutdown.signal.addEventListener('abort', run)
    return () => shutdown.signal.removeEventListener('abort', run)
  }),
  onTarget('a listener of an abort signal of others, called once', (run) =>
    shutdown.signal.addEventListener('abort', run, { once: true }),
  ),
  onTarget('an object that listens to an event target of others', (run) => {
    const listener = { handleEvent: run }
    target.addEventListener('news', listener)
    return () => target.removeEventListener('news', listener)
  }),
  later(
    'a function in a queue that others work off, bound to where it was made',
    (run) => void queue.push(AsyncResource.bind(run)),
    () => queue.shift()(),
  ),
  {
    name: 'a listener of an emitter that the tool has made and others emit on',
    policy: inside,
    mayPass: true,
    tool: async (_, world) => {
      const own = new EventEmitter()
      own.on('news', leftBehind(world))
      world.own = own
      await until(() => world.runs > 0)
    },
    during: async (_, world) => {
      await until(() => world.own)
      world.own.emit('news')
    },
    check: ({ runs, mark }) => {
      if (runs === 0) throw new Error('it was never run')
      return existsSync(mark)
    },
    twin: { policy: everything },
  },
  later(
    'a callback for errors that nobody caught',
    (run) => {
      process.setUncaughtExceptionCaptureCallback(run)
      return () => process.setUncaughtExceptionCaptureCallback(null)
    },
    () =>
      setTimeout(() => {
        throw new Error('nobody catches it')
      }, 1),
  ),
  later(
    'a callback for when memory is freed',
    (run, world) => {
      world.registry = new FinalizationRegistry(run)
      for (let number = 0; number < 10; number += 1) world.registry.register({}, number)
    },
    async (world) => {
      for (let round = 0; round < 100 && world.runs === 0; round += 1) {
        collectGarbage()
        await pause(2)
      }
    },
  ),
  later(
    'a listener of a diagnostics channel',
    (run) => {
      channels.subscribe('later-attacks', run)
      return () => channels.unsubscribe('later-attacks', run)
    },
    () => channels.channel('later-attacks').publish({}),
  ),
  later(
    'an observer of measurements',
    (run) => {
      const observer = new PerformanceObserver(run)
      observer.observe({ entryTypes: ['mark'] })
      return () => observer.disconnect()
    },
    () => performance.mark('later-attacks'),
  ),
  later(
    'a hook for every promise',
    (run, world) => {
      let isFirst = true
      const stop = v8.promiseHooks.onInit(() => {
        if (world.isTriggered && isFirst) run((isFirst = false))
      })
      return stop
    },
    (world) => {
      world.isTriggered = true
      return pause(1)
    },
  ),
  later(
    'a hook for every asynchronous resource',
    (run, world) => {
      const hook = createHook({ init: () => world.isTriggered && world.runs === 0 && run() })
      hook.enable()
      return () => hook.disable()
    },
    (world) => {
      world.isTriggered = true
      return pause(1)
    },
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
      const other = world.retake.guard({ name: 'other', dir: world.folder, durability: 'memory' })
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

  thrown('an error with a message that is a getter', (run) =>
    withGetter(new Error(), 'message', run),
  ),
  thrown('an error with a code that is a getter', (run) => withGetter(new Error('x'), 'code', run)),
  thrown('an error with a cause that is a getter', (run) =>
    withGetter(new Error('x'), 'cause', run),
  ),
  thrown('an error with several that are a getter', (run) =>
    withGetter(new AggregateError([], 'x'), 'errors', run),
  ),
  thrown('an object with getters in place of an error', (run) => ({
    get message() {
      return run()
    },
  })),
  thrown(
    'a proxy of an error',
    (run) =>
      new Proxy(new Error('x'), {
        get: (error, key) => (run(), Reflect.get(error, key)),
        getPrototypeOf: (error) => (run(), Object.getPrototypeOf(error)),
      }),
  ),

  recorded('the filter of cpSync, in a run', (file, run) =>
    fs.cpSync(file, `${file}-2`, { filter: () => (run(), true) }),
  ),
  recorded('the filter of promises.cp, in a run', (file, run) =>
    promises.cp(file, `${file}-2`, { filter: () => (run(), true) }),
  ),

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

  around('a session of the inspector in the process', 'INSPECTOR_NOT_ALLOWED', () => {
    const session = new inspector.Session()
    session.connect()
    session.disconnect()
  }),
  around('a hook that runs code while Node reads it', 'NATIVE_ADDON', () => {
    const hook = createHook({ init() {} })
    const [key] = Object.getOwnPropertySymbols(hook)
    Object.defineProperty(hook, key, { get: () => undefined })
    hook.enable().disable()
  }),
  around('flags of V8', 'NATIVE_ADDON', () => v8.setFlagsFromString('--expose-gc')),
  around('a trace that Node writes', 'PATH_OUTSIDE_ROOT', () =>
    traceEvents.createTracing({ categories: ['node.perf'] }),
  ),
]
