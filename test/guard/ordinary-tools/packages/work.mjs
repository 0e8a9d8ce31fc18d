/** Tools around packages for queues, pools, loggers, local databases and programs. */
import { Low } from 'lowdb'
import { JSONFile } from 'lowdb/node'
import async from 'async'
import { Mutex } from 'async-mutex'
import Bottleneck from 'bottleneck'
import bunyan from 'bunyan'
import chalk from 'chalk'
import { Command } from 'commander'
import Conf from 'conf'
import convict from 'convict'
import crossSpawn from 'cross-spawn'
import DataLoader from 'dataloader'
import debug from 'debug'
import * as esbuild from 'esbuild'
import { execa, execaSync } from 'execa'
import fastq from 'fastq'
import genericPool from 'generic-pool'
import Keyv from 'keyv'
import Knex from 'knex'
import { LRUCache } from 'lru-cache'
import Datastore from '@seald-io/nedb'
import NodeCache from 'node-cache'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import path from 'node:path'
import { Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import ora from 'ora'
import pLimit from 'p-limit'
import pMap from 'p-map'
import PQueue from 'p-queue'
import pino from 'pino'
import { Piscina } from 'piscina'
import * as prettier from 'prettier'
import { lastValueFrom, map, of, delay, toArray } from 'rxjs'
import { Sequelize, DataTypes } from 'sequelize'
import shell from 'shelljs'
import { simpleGit } from 'simple-git'
import initSqlJs from 'sql.js'
import sqlite3 from 'sqlite3'
import si from 'systeminformation'
import which from 'which'
import winston from 'winston'
import workerpool from 'workerpool'
import yargs from 'yargs'
import { $ } from 'zx'

const isNode20 = process.versions.node.startsWith('20.')
// The newest that has binaries for Node 20 has none for later versions.
const { default: Database } = await import(isNode20 ? 'better-sqlite3' : 'better-sqlite3-13')

const require = createRequire(import.meta.url)
/** A file of a package. */
const fileOf = (name, file) => {
  const folders = require.resolve.paths(name).map((each) => path.join(each, name))
  return path.join(
    folders.find((each) => existsSync(each)),
    file,
  )
}
const SQLITE = fileOf(isNode20 ? 'better-sqlite3' : 'better-sqlite3-13', '.')
const SQLITE_ADDON = path.join(
  SQLITE,
  isNode20
    ? 'build/Release/better_sqlite3.node'
    : `prebuilds/${process.platform}-${process.arch}.node`,
)
const SQL_FILES = path.dirname(require.resolve('sql.js'))
const ESBUILD = fileOf(`@esbuild/${process.platform}-${process.arch}`, 'bin/esbuild')

// Made once by the program, as most are.
const limit = pLimit(1)
const queue = new PQueue({ concurrency: 1 })
const bottleneck = new Bottleneck({ maxConcurrent: 1 })
const mutex = new Mutex()
const files = fastq.promise((file) => readFile(file, 'utf8'), 1)
const loader = new DataLoader((keys) => Promise.all(keys.map((key) => readFile(key, 'utf8'))), {
  cache: false,
})
const logger = pino({ level: 'info' }, pino.destination({ dest: 2, sync: true }))
const winstonLogger = winston.createLogger({
  transports: [new winston.transports.Console({ stderrLevels: ['info'] })],
})
const log = debug('tool')
const cache = new LRUCache({ max: 10 })

const size = async (file) => (await readFile(file, 'utf8')).length
export const limited = ({ file }) => limit(() => size(file))
export const queued = ({ file }) => queue.add(() => size(file))
export const scheduled = ({ file }) => bottleneck.schedule(() => size(file))
export const locked = ({ file }) => mutex.runExclusive(() => size(file))
export const fastqueue = async ({ file }) => (await files.push(file)).length
export const loaded = async ({ files }) =>
  (await loader.loadMany(files)).map(({ length }) => length)
export const mapped = ({ files }) => pMap(files, size, { concurrency: 2 })
export const asyncMap = ({ files }) => async.mapLimit(files, 2, async (file) => size(file))
export const reactive = ({ numbers }) =>
  lastValueFrom(
    of(...numbers).pipe(
      delay(1),
      map((n) => n * 2),
      toArray(),
    ),
  )

export async function pooled({ file }) {
  const pool = genericPool.createPool(
    { create: async () => ({ size }), destroy: async () => {} },
    { max: 2 },
  )
  const result = await pool.use((resource) => resource.size(file))
  await pool.drain()
  return result
}

export async function piscina({ a, b }) {
  const pool = new Piscina({
    filename: fileURLToPath(new URL('work-thread.mjs', import.meta.url)),
    maxThreads: 1,
  })
  const sum = await pool.run({ a, b })
  await pool.destroy()
  return sum
}

export async function workerPool({ a, b }) {
  const pool = workerpool.pool({ maxWorkers: 1, workerType: 'thread' })
  const sum = await pool.exec((a, b) => a + b, [a, b])
  await pool.terminate()
  return sum
}

export const pinoLog = ({ text }) => logger.info({ text }, 'called') ?? text
export const winstonLog = ({ text }) => winstonLogger.info(text) && text
export const debugLog = ({ text }) => log('called with %s', text) ?? text
export const consoleLog = ({ text }) => console.error(chalk.red(text)) ?? text
export const bunyanLog = ({ text }) => {
  bunyan.createLogger({ name: 'tool', stream: process.stderr }).info(text)
  return text
}
export async function logToFile({ file, text }) {
  const transport = new winston.transports.File({ filename: file })
  const own = winston.createLogger({ transports: [transport] })
  own.info(text)
  const finished = once(transport, 'finish')
  own.end()
  await finished
  for (let tries = 0; tries < 50 && !readFileSync(file, 'utf8').includes(text); tries++)
    await new Promise((resolve) => setTimeout(resolve, 10))
  return readFileSync(file, 'utf8').includes(text)
}
export async function pinoToFile({ file, text }) {
  const destination = pino.destination({ dest: file, sync: false })
  pino(destination).info(text)
  await once(destination, 'ready').catch(() => {})
  destination.flushSync()
  destination.end()
  // `flushSync` does not wait for a write that has begun.
  await once(destination, 'close')
  return readFileSync(file, 'utf8').includes(text)
}
export const spin = ({ text }) => {
  ora({ text, stream: process.stderr, isEnabled: false }).start().succeed()
  return text
}

export const parseCommand = ({ argv }) =>
  new Command().option('--port <n>').exitOverride().parse(argv, { from: 'user' }).opts()
export const parseYargs = async ({ argv }) =>
  (await yargs(argv).exitProcess(false).parseAsync()).port
export const settings = ({ file }) => {
  const config = convict({
    name: { format: String, default: '' },
    port: { format: 'port', default: 0 },
    debug: { format: Boolean, default: true },
  })
  config.loadFile(file)
  return config.validate({ allowed: 'strict' }).get('port')
}
export const userSettings = ({ folder, theme }) => {
  const conf = new Conf({ cwd: path.resolve(folder), projectName: 'shop' })
  conf.set('theme', theme)
  return conf.get('theme')
}

export const cached = ({ key }) => cache.set(key, 1).get(key)
export const nodeCache = ({ key }) => new NodeCache({ checkperiod: 0 }).set(key, 1)
export const keyValue = async ({ key }) => {
  const store = new Keyv()
  await store.set(key, 'v')
  return store.get(key)
}
export async function jsonDatabase({ file }) {
  const db = new Low(new JSONFile(file), { posts: [] })
  await db.update(({ posts }) => posts.push(1))
  return readFileSync(file, 'utf8').length > 0
}
export async function nedb({ file }) {
  const db = new Datastore({ filename: file, autoload: true })
  await db.insertAsync({ a: 1 })
  return (await db.findAsync({ a: 1 })).length
}
export function betterSqlite({ file }) {
  const db = new Database(file)
  db.exec('create table if not exists t (n int); insert into t values (1)')
  const { n } = db.prepare('select max(n) as n from t').get()
  db.close()
  return n
}
export const sqlite = ({ file }) =>
  new Promise((resolve, reject) => {
    const db = new sqlite3.Database(file)
    db.get('select 1 + 1 as n', (error, row) =>
      db.close(() => (error ? reject(error) : resolve(row.n))),
    )
  })
export async function knexSqlite({ file }) {
  const knex = Knex({ client: 'sqlite3', connection: { filename: file }, useNullAsDefault: true })
  await knex.schema.createTable('t', (table) => table.integer('n'))
  await knex('t').insert({ n: 4 })
  const rows = await knex('t').select('n')
  await knex.destroy()
  return rows
}
export async function sequelizeSqlite({ file }) {
  const sequelize = new Sequelize({ dialect: 'sqlite', storage: file, logging: false })
  const Item = sequelize.define('item', { name: DataTypes.STRING })
  await sequelize.sync()
  await Item.create({ name: 'tea' })
  const names = (await Item.findAll()).map(({ name }) => name)
  await sequelize.close()
  return names
}
export async function wasmSqlite({ query }) {
  const SQL = await initSqlJs()
  return new SQL.Database().exec(query)[0].values
}

export async function execaText({ args }) {
  const { stdout } = await execa('sort', args, { input: 'b\na', cwd: 'work' })
  return stdout.split('\n')
}
export const execaNow = () => execaSync('uname', ['-s'], { cwd: 'work' }).stdout
export const execaCode = async ({ code }) =>
  (await execa('node', ['-e', code], { cwd: 'work' })).stdout
export const spawnCross = ({ file }) =>
  crossSpawn.sync('wc', ['-l', file], { cwd: 'work', encoding: 'utf8' }).stdout.trim()
export async function git({ folder }) {
  const repository = simpleGit(path.resolve(folder))
  await repository.init()
  await repository.addConfig('user.name', 'Ann')
  await repository.addConfig('user.email', 'ann@example.com')
  await repository.add('.')
  await repository.commit('First', { '--allow-empty': null })
  return (await repository.log()).latest?.message
}
export const zx = async ({ text }) =>
  `${await $({ cwd: 'work', quiet: true })`echo ${text}`}`.trim()
export const shellCommand = ({ pattern }) => shell.ls(pattern).length
export const shellGrep = ({ text, file }) => shell.grep(text, file).stdout.trim()
export const findProgram = async ({ name }) => path.basename(await which(name))
export const system = async () => typeof (await si.mem()).total
export const prettify = ({ code }) => prettier.format(code, { parser: 'babel' })
export const prettyFile = async ({ file }) =>
  (
    await prettier.format(readFileSync(file, 'utf8'), {
      filepath: file,
      ...(await prettier.resolveConfig(file, { editorconfig: false })),
    })
  ).length > 0
export const bundle = async ({ entry, outfile }) => {
  await esbuild.build({
    absWorkingDir: process.cwd(),
    entryPoints: [entry],
    bundle: true,
    outfile,
    logLevel: 'silent',
  })
  // Its process ends with the call, and it would not start another.
  await esbuild.stop()
  return existsSync(outfile)
}
export const lines = async ({ count }) => {
  const chunks = []
  const sink = new Writable({ write: (chunk, _, done) => done(void chunks.push(chunk)) })
  for (let i = 0; i < count; i++) sink.write('x')
  sink.end()
  await once(sink, 'finish')
  return chunks.length
}

/** @type {(values: Record<string, string>) => object[]} */
export const rows = () => {
  const reads = { effects: ['read'] }
  const writes = { effects: ['read', 'write'] }
  const file = 'work/sales.csv'
  const list = ['work/sales.csv', 'work/notes/todo.txt']
  const text = 'hello'
  const uname = { effects: ['shell'], programs: [['uname', '-s']], expected: /^(?:Linux|Darwin)$/ }
  return [
    { tool: limited, args: { file }, ...reads, expected: 26 },
    { tool: queued, args: { file }, ...reads, expected: 26 },
    { tool: scheduled, args: { file }, ...reads, expected: 26 },
    { tool: locked, args: { file }, ...reads, expected: 26 },
    { tool: fastqueue, args: { file }, ...reads, expected: 26 },
    { tool: loaded, args: { files: list }, ...reads, expected: [26, 27] },
    { tool: mapped, args: { files: list }, ...reads, expected: [26, 27] },
    { tool: asyncMap, args: { files: list }, ...reads, expected: [26, 27] },
    { tool: reactive, args: { numbers: [1, 2] }, expected: [2, 4] },
    { tool: pooled, args: { file }, ...reads, expected: 26 },
    {
      tool: piscina,
      args: { a: 1, b: 2 },
      effects: ['shell'],
      programs: [['worker', fileOf('piscina', 'dist/worker.js')]],
      expected: 3,
    },
    {
      tool: workerPool,
      args: { a: 1, b: 2 },
      effects: ['shell'],
      programs: [['worker', fileOf('workerpool', 'src/worker.js')]],
      expected: 3,
    },
    { tool: pinoLog, args: { text }, expected: text },
    { tool: winstonLog, args: { text }, expected: text },
    { tool: debugLog, args: { text }, expected: text },
    { tool: consoleLog, args: { text }, expected: text },
    { tool: bunyanLog, args: { text }, expected: text },
    { tool: logToFile, args: { file: 'work/out/app.log', text }, ...writes, expected: true },
    { tool: pinoToFile, args: { file: 'work/out/pino.log', text }, ...writes, expected: true },
    { tool: spin, args: { text }, expected: text },
    { tool: parseCommand, args: { argv: ['--port', '80'] }, expected: { port: '80' } },
    { tool: parseYargs, args: { argv: ['--port', '80'] }, expected: 80 },
    { tool: settings, args: { file: 'work/config.json' }, ...reads, expected: 8080 },
    {
      tool: userSettings,
      args: { folder: 'work/out', theme: 'dark' },
      ...writes,
      expected: 'dark',
    },
    { tool: cached, args: { key: 'a' }, expected: 1 },
    { tool: nodeCache, args: { key: 'a' }, expected: true },
    { tool: keyValue, args: { key: 'a' }, expected: 'v' },
    { tool: jsonDatabase, args: { file: 'work/out/db.json' }, ...writes, expected: true },
    { tool: nedb, args: { file: 'work/out/nedb.db' }, ...writes, expected: 1 },
    {
      tool: betterSqlite,
      args: { file: 'work/out/a.db' },
      effects: ['read', 'write', 'shell'],
      read: [SQLITE],
      programs: [['addon', SQLITE_ADDON]],
      expected: 1,
    },
    { tool: sqlite, args: { file: 'work/out/b.db' }, ...writes, expected: 2 },
    { tool: knexSqlite, args: { file: 'work/out/c.db' }, ...writes, expected: [{ n: 4 }] },
    { tool: sequelizeSqlite, args: { file: 'work/out/d.db' }, ...writes, expected: ['tea'] },
    { tool: wasmSqlite, args: { query: 'select 1' }, ...reads, read: [SQL_FILES], expected: [[1]] },
    {
      tool: execaText,
      args: { args: ['-r'] },
      effects: ['shell'],
      programs: [['sort', '-r']],
      expected: ['b', 'a'],
    },
    { tool: execaNow, ...uname },
    {
      tool: execaCode,
      args: { code: 'console.log(1)' },
      effects: ['shell'],
      programs: [['node', '-e', '*']],
      expected: '1',
    },
    {
      tool: spawnCross,
      args: { file: 'sales.csv' },
      effects: ['read', 'shell'],
      programs: [['wc', '-l', '*']],
      expected: '3 sales.csv',
    },
    {
      tool: git,
      args: { folder: 'work/out' },
      effects: ['read', 'write', 'shell'],
      programs: [
        ['git', '**'],
        ['git', '-**'],
      ],
      expected: 'First',
    },
    {
      tool: zx,
      args: { text: 'hi' },
      effects: ['shell'],
      programs: [['bash', '-c', '*']],
      expected: 'hi',
    },
    { tool: shellCommand, args: { pattern: 'work/notes/*' }, ...reads, expected: 2 },
    {
      tool: shellGrep,
      args: { text: 'Ann', file: 'work/notes/todo.txt' },
      ...reads,
      expected: 'Call Ann',
    },
    {
      tool: findProgram,
      args: { name: 'uname' },
      effects: ['read'],
      read: ['/usr/bin', '/bin'],
      expected: 'uname',
    },
    { tool: system, effects: ['read'], read: ['/proc/meminfo'], expected: 'number' },
    { tool: prettify, args: { code: 'a  =  1' }, expected: 'a = 1;\n' },
    { tool: prettyFile, args: { file: 'work/config.json' }, ...reads, read: ['.'], expected: true },
    {
      tool: bundle,
      args: { entry: 'work/src/index.ts', outfile: 'work/out/b.js' },
      effects: ['read', 'write', 'shell'],
      read: ['.', path.dirname(ESBUILD)],
      programs: [[ESBUILD, '--service=*', '--ping']],
      expected: true,
    },
    { tool: lines, args: { count: 3 }, expected: 3 },
  ]
}
