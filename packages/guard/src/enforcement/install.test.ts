import dgram from 'node:dgram'
import dns from 'node:dns'
import fs from 'node:fs'
import http from 'node:http'
import net from 'node:net'
import { install, uninstall } from '@retake/engine'
import { afterEach, expect, test } from 'vitest'
import { installGuard } from './install.js'

const functions = (): unknown[] => [
  dgram.Socket.prototype.send,
  http.request,
  dns.setServers,
  process.chdir,
  process.exit,
  process.on,
]

afterEach(uninstall)

test('recording patches nothing that only a guard needs', () => {
  const native = functions()
  install()
  expect(functions()).toEqual(native)
})

test('a guard installs its patches once', () => {
  install()
  const recorded = functions()
  installGuard()
  const guarded = functions()
  for (const [index, each] of guarded.entries()) expect(each).not.toBe(recorded[index])
  installGuard()
  expect(functions()).toEqual(guarded)
})

test('the engine takes the patches of the guard back before its own', () => {
  const native = [...functions(), fs.readFileSync, globalThis.fetch, net.Server.prototype.listen]
  installGuard()
  uninstall()
  expect([...functions(), fs.readFileSync, globalThis.fetch, net.Server.prototype.listen]).toEqual(
    native,
  )
  installGuard()
  expect(dgram.Socket.prototype.send).not.toBe(native[0])
})
