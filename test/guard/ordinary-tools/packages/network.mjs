/** Tools around packages for the network and databases behind it. */
import axios from 'axios'
import * as cheerio from 'cheerio'
import { drizzle } from 'drizzle-orm/node-postgres'
import { sql } from 'drizzle-orm'
import FormData from 'form-data'
import got from 'got'
import Redis from 'ioredis'
import { JSDOM } from 'jsdom'
import Knex from 'knex'
import ky from 'ky'
import { Kysely, PostgresDialect, sql as kyselySql } from 'kysely'
import mysql from 'mysql2'
import mysqlPromise from 'mysql2/promise'
import { once } from 'node:events'
import { createServer } from 'node:http'
import nodeFetch from 'node-fetch'
import nodemailer from 'nodemailer'
import pRetry from 'p-retry'
import pg from 'pg'
import { createClient } from 'redis'
import robotsParser from 'robots-parser'
import RssParser from 'rss-parser'
import { Sequelize } from 'sequelize'
import { Server } from 'socket.io'
import { io } from 'socket.io-client'
import superagent from 'superagent'
import { Cookie } from 'tough-cookie'
import { Agent, fetch as undiciFetch } from 'undici'
import WebSocket from 'ws'

async function socketServer() {
  const server = createServer()
  const sockets = new Server(server)
  sockets.on('connection', (socket) => {
    socket.on('add', (a, b, reply) => reply(a + b))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  return { values: { socketAddress: `127.0.0.1:${port}` }, close: () => sockets.close() }
}

/** Answers every query with one row. */
async function mysqlServer() {
  const server = mysql.createServer()
  server.on('connection', (connection) => {
    connection.serverHandshake({
      protocolVersion: 10,
      serverVersion: '8.0.0',
      connectionId: 1,
      statusFlags: 2,
      characterSet: 8,
      capabilityFlags: 0xffffff,
    })
    connection.on('query', () => {
      connection.writeTextResult(
        [{ n: 3 }],
        [
          {
            catalog: 'def',
            schema: '',
            table: '',
            orgTable: '',
            name: 'n',
            orgName: 'n',
            characterSet: 63,
            columnLength: 11,
            columnType: 3,
            flags: 0,
            decimals: 0,
          },
        ],
      )
    })
    connection.on('error', () => {})
  })
  server.listen(0)
  await once(server._server, 'listening')
  const { port } = server._server.address()
  return { values: { mysqlPort: port }, close: () => new Promise((done) => server.close(done)) }
}

export const servers = ['http', 'smtp', 'redis', 'postgres', socketServer, mysqlServer]

export const axiosForm = async ({ url }) => {
  const form = new FormData()
  form.append('name', 'Ann')
  return (await axios.post(url, form)).data.method
}
export const axiosAgent = async ({ baseURL }) =>
  (await axios.create({ baseURL, timeout: 5000 }).get('/json')).data.id
export const gotStream = async ({ url }) => {
  let text = ''
  for await (const chunk of got.stream(url)) text += chunk
  return text
}
export const kyJson = ({ url }) => ky.get(url, { retry: 1 }).json()
export const nodeFetchJson = async ({ url }) => (await nodeFetch(url)).json()
export const superagentPost = async ({ url }) =>
  (await superagent.post(url).send({ a: 1 })).body.body
export const undiciAgent = async ({ url }) =>
  (await undiciFetch(url, { dispatcher: new Agent({ keepAliveTimeout: 10 }) })).json()
export const scrape = async ({ url }) => {
  const $ = cheerio.load((await axios.get(url)).data)
  return [$('h1').text(), $('a').attr('href')]
}
export const cheerioUrl = async ({ url }) => (await cheerio.fromURL(url))('h1').text()
export const jsdomUrl = async ({ url }) => (await JSDOM.fromURL(url)).window.document.title
export const jsdomHtml = ({ html }) => {
  const { window } = new JSDOM(html, { runScripts: 'outside-only' })
  return window.eval('document.querySelector("p").textContent')
}
export const readFeed = async ({ feed_url }) =>
  (await new RssParser().parseURL(feed_url)).items[0].title
export const robots = async ({ url, page }) =>
  robotsParser(url, await (await fetch(url)).text()).isAllowed(page, 'bot')
export const cookies = ({ header, domain }) => Cookie.parse(header)?.cookieString() + domain
export const retried = ({ url }) => {
  let tries = 0
  return pRetry(
    async () => {
      const response = await fetch(tries++ === 0 ? `${url}/none` : `${url}/json`)
      if (!response.ok) throw new Error(response.statusText)
      return tries
    },
    { minTimeout: 1 },
  )
}

export async function sendMail({ host, port, to, subject }) {
  const transport = nodemailer.createTransport({ host, port, secure: false, ignoreTLS: true })
  const { accepted } = await transport.sendMail({ from: 'a@example.com', to, subject, text: 'x' })
  transport.close()
  return accepted
}

export const webSockets = ({ url }) =>
  new Promise((resolve, reject) => {
    const socket = new WebSocket(url).on('error', reject)
    socket.on('open', () => socket.send('a'))
    socket.on('message', (/** @type {Buffer} */ data) => resolve(data.toString(), socket.close()))
  })

export async function socketIo({ url, a, b }) {
  const socket = io(url, { transports: ['websocket'] })
  const sum = await socket.timeout(5000).emitWithAck('add', a, b)
  socket.disconnect()
  return sum
}

export async function socketIoPolling({ url, a, b }) {
  const socket = io(url, { forceNew: true })
  const sum = await socket.timeout(5000).emitWithAck('add', a, b)
  socket.disconnect()
  return sum
}

export async function ioredis({ url, key }) {
  const redis = new Redis(url)
  await redis.set(key, '5')
  const value = await redis.pipeline().incr(key).get(key).exec()
  await redis.quit()
  return value.at(-1)
}

export async function redisClient({ url, key }) {
  const client = await createClient({ url }).connect()
  await client.hSet(key, { a: '1' })
  const all = await client.hGetAll(key)
  await client.close()
  return { ...all }
}

export async function postgres({ connectionString, id }) {
  const client = new pg.Client({ connectionString })
  await client.connect()
  const { rows } = await client.query('select $1::int + 1 as n', [id])
  await client.end()
  return rows
}

export async function postgresPool({ connectionString }) {
  const pool = new pg.Pool({ connectionString, max: 2 })
  const results = await Promise.all([1, 2, 3].map((n) => pool.query('select $1::int as n', [n])))
  await pool.end()
  return results.map(({ rows }) => rows[0].n)
}

export async function knexQuery({ connection }) {
  const knex = Knex({ client: 'pg', connection })
  const { rows } = await knex.raw('select 2 as n')
  await knex.destroy()
  return rows
}

export async function drizzleQuery({ connectionString }) {
  const pool = new pg.Pool({ connectionString })
  const { rows } = await drizzle(pool).execute(sql`select 3 as n`)
  await pool.end()
  return rows
}

export async function kyselyQuery({ connectionString }) {
  const db = new Kysely({
    dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString }) }),
  })
  const { rows } = await kyselySql`select 4 as n`.execute(db)
  await db.destroy()
  return rows
}

export async function sequelizeQuery({ uri }) {
  const sequelize = new Sequelize(uri, { logging: false })
  const [rows] = await sequelize.query('select 5 as n')
  await sequelize.close()
  return rows
}

export async function mysqlQuery({ host, port }) {
  const connection = await mysqlPromise.createConnection({ host, port, user: 'x' })
  const [rows] = await connection.query('select 3 as n')
  connection.destroy()
  return rows.map((row) => ({ ...row }))
}

/** @type {(values: Record<string, string>) => object[]} */
export const rows = (values) => {
  const { origin, address, socketAddress, redisUrl, postgresUrl, smtpPort, mysqlPort } = values
  const json = { id: 7, tags: ['a', 'b'] }
  const network = { effects: ['network'], addresses: [address] }
  const posts = { ...network, changes: true }
  const sockets = { ...posts, addresses: [socketAddress] }
  const redis = { ...posts, addresses: [values.redisAddress] }
  const database = { ...posts, addresses: [values.postgresAddress] }
  return [
    { tool: axiosForm, args: { url: `${origin}/echo` }, ...posts, expected: 'POST' },
    { tool: axiosAgent, args: { baseURL: origin }, ...network, expected: 7 },
    {
      tool: gotStream,
      args: { url: `${origin}/lines` },
      ...network,
      expected: 'one\ntwo\nthree\n',
    },
    { tool: kyJson, args: { url: `${origin}/moved` }, ...network, expected: json },
    { tool: nodeFetchJson, args: { url: `${origin}/moved` }, ...network, expected: json },
    { tool: superagentPost, args: { url: `${origin}/echo` }, ...posts, expected: '{"a":1}' },
    { tool: undiciAgent, args: { url: `${origin}/json` }, ...network, expected: json },
    { tool: scrape, args: { url: `${origin}/html` }, ...network, expected: ['Title', '/next'] },
    { tool: cheerioUrl, args: { url: `${origin}/html` }, ...network, expected: 'Title' },
    { tool: jsdomUrl, args: { url: `${origin}/html` }, ...network, expected: '' },
    { tool: jsdomHtml, args: { html: '<p>hi</p>' }, expected: 'hi' },
    { tool: readFeed, args: { feed_url: `${origin}/rss` }, ...network, expected: 'One' },
    {
      tool: robots,
      args: { url: `${origin}/robots.txt`, page: `${origin}/private` },
      ...network,
      expected: false,
    },
    { tool: cookies, args: { header: 'a=1; Path=/', domain: 'x.org' }, expected: 'a=1x.org' },
    { tool: retried, args: { url: origin }, ...network, expected: 2 },
    {
      tool: sendMail,
      args: { host: '127.0.0.1', port: smtpPort, to: 'ann@example.com', subject: 'Hi' },
      ...posts,
      addresses: [values.smtpAddress],
      expected: ['ann@example.com'],
    },
    { tool: webSockets, args: { url: `ws://${address}/ws` }, ...posts, expected: 'echo a' },
    {
      tool: socketIo,
      args: { url: `http://${socketAddress}`, a: 1, b: 2 },
      ...sockets,
      expected: 3,
    },
    {
      tool: socketIoPolling,
      args: { url: `http://${socketAddress}`, a: 1, b: 2 },
      ...sockets,
      expected: 3,
    },
    { tool: ioredis, args: { url: redisUrl, key: 'n' }, ...redis, expected: [null, '6'] },
    { tool: redisClient, args: { url: redisUrl, key: 'h' }, ...redis, expected: { a: '1' } },
    {
      tool: postgres,
      args: { connectionString: postgresUrl, id: 1 },
      ...database,
      expected: [{ n: 2 }],
    },
    {
      tool: postgresPool,
      args: { connectionString: postgresUrl },
      ...database,
      expected: [1, 2, 3],
    },
    { tool: knexQuery, args: { connection: postgresUrl }, ...database, expected: [{ n: 2 }] },
    {
      tool: drizzleQuery,
      args: { connectionString: postgresUrl },
      ...database,
      expected: [{ n: 3 }],
    },
    {
      tool: kyselyQuery,
      args: { connectionString: postgresUrl },
      ...database,
      expected: [{ n: 4 }],
    },
    { tool: sequelizeQuery, args: { uri: postgresUrl }, ...database, expected: [{ n: 5 }] },
    {
      tool: mysqlQuery,
      args: { host: '127.0.0.1', port: mysqlPort },
      ...posts,
      addresses: [`127.0.0.1:${mysqlPort}`],
      expected: [{ n: 3 }],
    },
  ]
}
