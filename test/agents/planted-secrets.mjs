import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import net from 'node:net'
import { gzipSync, gunzipSync } from 'node:zlib'
import { tool } from '@retake/engine'
import { plantedSecrets } from '../support/planted-secrets.mjs'

/** Puts each planted secret where it belongs, and checks that it gets the real ones. */
const [url, port, folder] = process.argv.slice(2)
if (process.env.WITHOUT_REDACTOR === '1') {
  const { SecretMask } = await import('@retake/engine/hook')
  const { prototype } = SecretMask
  prototype.text = (text) => text
  prototype.named = (_name, value) => value
  prototype.option = (_name, value) => value
  prototype.bytes = (bytes) => bytes
  prototype.body = (_event, bytes) => bytes
}
const planted = plantedSecrets(process.env)
const at = (place) => planted.filter((each) => each.place === place)
const post = (path, init) => fetch(`${url}/${path}`, { method: 'POST', ...init })
/** Uses the answers, so that a replay that gets other ones is noticed. */
let read = 0

for (const { text } of at('request body')) await post('sink', { body: JSON.stringify({ text }) })
for (const { text } of at('request header'))
  await post('sink', { headers: { 'x-note': text.replaceAll(/[^\x20-\x7e]/g, '') } })
for (const { text } of at('query')) await post(`sink?note=${encodeURIComponent(text)}`)
for (const { text } of at('gzip request'))
  await post('sink', { body: gzipSync(text), headers: { 'content-encoding': 'gzip' } })
for (const { id } of at('response')) read += (await (await post(`text/${id}`)).text()).length
for (const { id } of at('cut response')) read += (await (await post(`cut/${id}`)).text()).length
for (const { id } of at('model stream')) read += (await (await post(`stream/${id}`)).text()).length
for (const { id } of at('gzip response')) {
  const request = http.get(`${url}/gzip/${id}`, { headers: { 'accept-encoding': 'gzip' } })
  const [response] = await once(request, 'response')
  const parts = []
  for await (const part of response) parts.push(part)
  read += gunzipSync(Buffer.concat(parts)).length
}
const take = tool('take', ({ text }) => text.length)
const give = tool('give', ({ id }) => planted[id].text)
for (const { text } of at('tool argument')) read += await take({ text })
for (const { id } of at('tool result')) read += (await give({ id })).length
for (const { text } of at('stdout')) process.stdout.write(`${text}\n`)
for (const { text } of at('stderr')) process.stderr.write(`${text}\n`)
for (const { id } of at('file read')) read += readFileSync(`${folder}/${id}.txt`, 'utf8').length
for (const { id, text } of at('file written')) writeFileSync(`${folder}/${id}.out`, text)
for (const { id } of at('socket answer')) {
  const socket = net.connect(Number(port), '127.0.0.1')
  socket.write(`\0row ${id}\0`)
  for await (const data of socket) read += data.length
}
for (const { text } of at('child argument')) execFileSync('true', [text])
for (const { id } of at('child output')) read += execFileSync('cat', [`${folder}/${id}.txt`]).length
const child = spawn('cat')
child.stdout.on('data', (data) => (read += data.length))
for (const { text } of at('child input')) child.stdin.write(`${text}\n`)
child.stdin.end()
await once(child, 'close')
const variables = Object.keys(process.env).filter((name) => name.startsWith('PLANTED_'))
for (const name of variables) read += process.env[name].length
console.log('read', read)
const failing = tool('fail', ({ id }) => {
  throw new Error(planted[id].text)
})
for (const { id } of at('error message'))
  await failing({ id }).catch((error) => (read += error.message.length))
