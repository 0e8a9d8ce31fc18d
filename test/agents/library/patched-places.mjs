// Every object whose properties Retake could replace, by name. A property is
// listed whether it is replaced or not.
import childProcess from 'node:child_process'
import cluster from 'node:cluster'
import crypto from 'node:crypto'
import dgram from 'node:dgram'
import dns from 'node:dns'
import EventEmitter from 'node:events'
import fs from 'node:fs'
import http from 'node:http'
import http2 from 'node:http2'
import https from 'node:https'
import inspector from 'node:inspector'
import net from 'node:net'
import os from 'node:os'
import perfHooks from 'node:perf_hooks'
import readline from 'node:readline'
import stream from 'node:stream'
import timers from 'node:timers'
import timersPromises from 'node:timers/promises'
import tls from 'node:tls'
import util from 'node:util'
import vm from 'node:vm'
import worker from 'node:worker_threads'
import zlib from 'node:zlib'

const prototypeOf = (value) => Object.getPrototypeOf(value)

export const places = {
  globalThis,
  AbortSignal,
  'AbortSignal.prototype': AbortSignal.prototype,
  Atomics,
  'Blob.prototype': Blob.prototype,
  'Crypto.prototype': prototypeOf(globalThis.crypto),
  Date,
  'Date.prototype': Date.prototype,
  'DateTimeFormat.prototype': Intl.DateTimeFormat.prototype,
  EventEmitter,
  'Event.prototype': Event.prototype,
  Math,
  'SubtleCrypto.prototype': prototypeOf(globalThis.crypto.subtle),
  URL,
  WebAssembly,
  performance,
  'Performance.prototype': prototypeOf(performance),
  process,
  'process.hrtime': process.hrtime,
  'process.memoryUsage': process.memoryUsage,
  'process.stdin': process.stdin,
  'process.stdout': process.stdout,
  'process.stderr': process.stderr,
  ...(globalThis.Temporal && { 'Temporal.Now': Temporal.Now }),
  childProcess,
  'ChildProcess.prototype': childProcess.ChildProcess.prototype,
  cluster,
  crypto,
  dgram,
  dns,
  'dns.promises': dns.promises,
  'dns.Resolver.prototype': dns.Resolver.prototype,
  'dns.Resolver.prototype, inherited': prototypeOf(dns.Resolver.prototype),
  'dns.promises.Resolver.prototype': dns.promises.Resolver.prototype,
  fs,
  'fs.promises': fs.promises,
  'fs.ReadStream.prototype': fs.ReadStream.prototype,
  'fs.WriteStream.prototype': fs.WriteStream.prototype,
  http,
  'http.Agent.prototype': http.Agent.prototype,
  'http.ClientRequest.prototype': http.ClientRequest.prototype,
  http2,
  https,
  'https.Agent.prototype': https.Agent.prototype,
  inspector,
  net,
  'net.Server.prototype': net.Server.prototype,
  'net.Socket.prototype': net.Socket.prototype,
  os,
  perfHooks,
  readline,
  stream,
  timers,
  timersPromises,
  'scheduler, inherited': prototypeOf(timersPromises.scheduler),
  tls,
  util,
  vm,
  worker,
  zlib,
}

/** Reads what Node only makes when it is first read: that is not a patch. */
export function touchLazyOnes() {
  for (const name of Reflect.ownKeys(globalThis)) {
    // These warn when they are read.
    if (name !== 'localStorage' && name !== 'sessionStorage') Reflect.get(globalThis, name)
  }
  void process.allowedNodeEnvironmentFlags
}

/** All own properties of all places, by `place key`. */
export function properties() {
  const found = new Map()
  for (const [place, target] of Object.entries(places)) {
    for (const key of Reflect.ownKeys(target)) {
      // State of streams, not an interface.
      if (place.startsWith('process.std') && String(key).startsWith('_')) continue
      const name = `${place} ${String(key)}`
      found.set(name, Object.getOwnPropertyDescriptor(target, key))
    }
  }
  return found
}

/** How a property looks to a program that does not compare identities. */
export function lookOf(name) {
  const [, place, key] = /^(.*) (.*)$/.exec(name)
  const target = places[place]
  const isEnumerable = Object.prototype.propertyIsEnumerable.call(target, key)
  const isAccessor = Object.getOwnPropertyDescriptor(target, key)?.get !== undefined
  const value = isAccessor || !(key in target) ? undefined : target[key]
  const shape = typeof value === 'function' ? `${value.name}/${value.length}` : ''
  return `${isEnumerable ? 'enumerable' : 'hidden'} ${shape}`
}
