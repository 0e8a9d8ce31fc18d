// Compares the process before install(), after it, and after uninstall(). Its
// last line on stdout is JSON: what a program could notice.
import * as crypto from 'node:crypto'
import * as fs from 'node:fs'
import * as timersPromises from 'node:timers/promises'
import { install, uninstall } from '@retake/engine'
import { lookOf, properties, touchLazyOnes } from './patched-places.mjs'

touchLazyOnes()
const namedImports = () => [crypto.randomUUID, fs.readFileSync, timersPromises.setTimeout]

const [before, namedBefore] = [properties(), namedImports()]
const looksBefore = new Map([...before.keys()].map((key) => [key, lookOf(key)]))
install()
const [during, namedDuring] = [properties(), namedImports()]
const looksDuring = new Map([...during.keys()].map((key) => [key, lookOf(key)]))
uninstall()
const [after, namedAfter] = [properties(), namedImports()]
const looksAfter = new Map([...during.keys()].map((key) => [key, lookOf(key)]))

const parts = ['value', 'get', 'set', 'writable', 'enumerable', 'configurable']
const isSame = (a, b) => parts.every((part) => Object.is(a?.[part], b?.[part]))
const changed = (left, right) =>
  [...new Set([...left.keys(), ...right.keys()])].filter(
    (key) => !isSame(left.get(key), right.get(key)),
  )

const replaced = changed(before, during)
const different = replaced.filter(
  // Own properties in front of inherited ones have no look of their own before.
  (key) => looksDuring.get(key) !== (looksBefore.get(key) ?? looksAfter.get(key)),
)
console.log(
  `\n${JSON.stringify({
    replaced,
    different: different.map((key) => [key, looksAfter.get(key), looksDuring.get(key)]),
    notRestored: changed(before, after),
    namedImportsReplaced: namedBefore.map((each, index) => each !== namedDuring[index]),
    namedImportsRestored: namedBefore.map((each, index) => each === namedAfter[index]),
  })}`,
)
