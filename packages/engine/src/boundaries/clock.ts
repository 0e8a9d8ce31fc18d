import buffer from 'node:buffer'
import { calledByRunner } from '../kernel/call-site.js'
import { natives } from '../kernel/natives.js'
import {
  dressLike,
  replace,
  replaceClass,
  replaceGetter,
  undoAll,
  type Undo,
} from './patching/patch.js'
import { drawnByAgent, observedSession } from './patching/telemetry.js'

/** All sources of time except those that each realm has. */
export function patchClock(): Undo {
  return undoAll([
    patchPerformance(),
    patchHrtime(),
    patchEventTimeStamp(),
    patchFileLastModified(),
  ])
}

/** Milliseconds since the epoch, drawn from the current run if there is one. */
export function now(): number {
  return drawnByAgent('Date.now', nativeNow)
}

const nativeNow = (): number => natives.dateNow.call(natives.Date)

type Realm = typeof globalThis

/** Sources of time that each realm has. */
export const patchRealmClock = (realm: Realm): Undo =>
  undoAll([patchDate(realm), patchDateTimeFormat(realm), patchTemporal(realm)])

function patchDate(realm: Realm): Undo {
  const Native = realm.Date
  // A function, not a class: `Date()` without `new` must work, and subclasses construct through it.
  function PatchedDate(this: unknown, ...args: unknown[]): unknown {
    if (new.target === undefined) return new Native(now()).toString()
    // Fast paths for the usual cases: Reflect.construct is several times slower.
    if (new.target === (PatchedDate as unknown)) {
      if (args.length === 0) return new Native(now())
      if (args.length === 1) return new Native(args[0] as number)
    }
    return Reflect.construct(Native, args.length === 0 ? [now()] : args, new.target)
  }
  dressLike(PatchedDate, Native)
  Object.defineProperty(PatchedDate, 'prototype', { value: Native.prototype, writable: false })
  Object.defineProperty(PatchedDate, 'now', { value: now, writable: true, configurable: true })
  return undoAll([
    replace(Native.prototype, 'constructor', PatchedDate),
    replace(realm, 'Date', PatchedDate),
  ])
}

function patchPerformance(): Undo {
  const perf = globalThis.performance
  const performanceNow = (): number => {
    const session = observedSession()
    return session === undefined || calledByRunner(performanceNow)
      ? natives.performanceNow()
      : session.draw('performance.now', natives.performanceNow)
  }
  const { timeOrigin } = perf
  const mark = perf.mark.bind(perf)
  const measure = perf.measure.bind(perf)
  return undoAll([
    replace(perf, 'now', performanceNow),
    replaceGetter(perf, 'timeOrigin', () =>
      drawnByAgent('performance.timeOrigin', () => timeOrigin),
    ),
    replace(perf, 'mark', (name: string, options?: Parameters<typeof perf.mark>[1]) =>
      observedSession() === undefined || options?.startTime !== undefined
        ? mark(name, options)
        : mark(name, { ...options, startTime: performanceNow() }),
    ),
    replace(perf, 'measure', (name: string, start?: any, end?: string) => {
      if (observedSession() === undefined) return measure(name, start, end)
      const options = typeof start === 'object' && start !== null ? start : { start, end }
      const untilNow = options.end === undefined && options.duration === undefined
      return measure(name, untilNow ? { ...options, end: performanceNow() } : options)
    }),
  ])
}

function patchHrtime(): Undo {
  const bigint = (): bigint =>
    observedSession()
      ? BigInt(drawnByAgent('process.hrtime', () => natives.hrtimeBigint().toString()))
      : natives.hrtimeBigint()
  const native = process.hrtime.bind(process)
  const hrtime = (previous?: [number, number]): [number, number] => {
    // Node throws its own error for a wrong argument.
    if (previous !== undefined && previous?.length !== 2) return native(previous)
    const time = bigint()
    let seconds = Number(time / 1_000_000_000n)
    let nanoseconds = Number(time % 1_000_000_000n)
    if (previous !== undefined) {
      seconds -= previous[0]
      nanoseconds -= previous[1]
      if (nanoseconds < 0) {
        seconds -= 1
        nanoseconds += 1_000_000_000
      }
    }
    return [seconds, nanoseconds]
  }
  hrtime.bigint = bigint
  return replace(process, 'hrtime', hrtime)
}

/** `format()` without a date means now. */
function patchDateTimeFormat(realm: Realm): Undo {
  const prototype = realm.Intl.DateTimeFormat.prototype
  const format = Object.getOwnPropertyDescriptor(prototype, 'format')?.get
  const formatToParts = prototype.formatToParts
  const bound = new WeakMap<Intl.DateTimeFormat, (date?: Date | number) => string>()
  return undoAll([
    replaceGetter(prototype, 'format', function (this: Intl.DateTimeFormat) {
      const native = format?.call(this) as (date?: Date | number) => string
      const wrapper = bound.get(this) ?? ((date) => native(date === undefined ? now() : date))
      bound.set(this, wrapper)
      return wrapper
    }),
    replace(prototype, 'formatToParts', function (this: Intl.DateTimeFormat, date?: Date | number) {
      return formatToParts.call(this, date === undefined ? now() : date)
    }),
  ])
}

function patchEventTimeStamp(): Undo {
  const native = Object.getOwnPropertyDescriptor(Event.prototype, 'timeStamp')?.get
  if (native === undefined) return () => {}
  const drawn = new WeakMap<Event, number>()
  return replaceGetter(Event.prototype, 'timeStamp', function (this: Event) {
    const known = drawn.get(this)
    if (known !== undefined) return known
    const session = observedSession()
    const time: number = native.call(this)
    if (session === undefined) return time
    const value = session.draw('Event.timeStamp', () => time)
    drawn.set(this, value)
    return value
  })
}

function patchFileLastModified(): Undo {
  const Native = (globalThis as { File?: typeof File }).File
  if (Native === undefined) return () => {}
  const PatchedFile = new Proxy(Native, {
    construct(target, args: unknown[], newTarget) {
      const options = args[2] as { lastModified?: number } | undefined
      const dated =
        observedSession() === undefined || options?.lastModified !== undefined
          ? args
          : [args[0], args[1], { ...options, lastModified: now() }]
      return Reflect.construct(target, dated, newTarget)
    },
  })
  return replaceClass([globalThis, buffer], 'File', PatchedFile)
}

/** Node 26 has `Temporal`; all of `Temporal.Now` follows from the instant. */
function patchTemporal(realm: Realm): Undo {
  const temporal = (realm as { Temporal?: any }).Temporal
  if (temporal?.Now === undefined) return () => {}
  const nativeInstant = temporal.Now.instant.bind(temporal.Now)
  const zoneId = temporal.Now.timeZoneId.bind(temporal.Now)
  const instant = (): any => {
    const session = observedSession()
    if (session === undefined) return nativeInstant()
    const nanoseconds = session.draw('Temporal.Now', () => String(nativeInstant().epochNanoseconds))
    return new temporal.Instant(BigInt(nanoseconds))
  }
  const zoned = (zone?: unknown): any => instant().toZonedDateTimeISO(zone ?? zoneId())
  return undoAll([
    replace(temporal.Now, 'instant', instant),
    replace(temporal.Now, 'zonedDateTimeISO', zoned),
    replace(temporal.Now, 'plainDateTimeISO', (zone?: unknown) => zoned(zone).toPlainDateTime()),
    replace(temporal.Now, 'plainDateISO', (zone?: unknown) => zoned(zone).toPlainDate()),
    replace(temporal.Now, 'plainTimeISO', (zone?: unknown) => zoned(zone).toPlainTime()),
  ])
}
