// Requests made first and sent later, as generated SDKs do it: cloned for a retry, with a form, a stream, changes.
const base = process.env.AGENT_BASE_URL
const echo = `${base}/echo?stamp=${Math.random()}`
const say = async (name, response) => {
  const text = await response.text()
  // The boundary of a form is random.
  console.log(name, response.status, text.replaceAll(/-+formdata\S+/g, 'boundary'))
}

const request = new Request(echo, {
  method: 'POST',
  headers: { 'content-type': 'application/json', 'x-asked': 'first' },
  body: JSON.stringify({ question: Math.random() }),
})
await say('clone', await fetch(request.clone()))
await say('changed', await fetch(request.clone(), { headers: { 'x-asked': 'second' } }))
await say('unchanged', await fetch(request.clone(), { method: undefined, headers: undefined }))
const other = { method: 'PUT', body: `instead ${Math.random()}` }
await say('other body', await fetch(request.clone(), other))
await say('itself', await fetch(request))
console.log('used', request.bodyUsed)
console.log(await fetch(request).catch(({ name, message }) => `${name}: ${message}`))

const form = new FormData()
form.set('purpose', 'batch')
form.set('file', new Blob([`lines ${Math.random()}`]), 'lines.jsonl')
await say('form', await fetch(new Request(echo, { method: 'POST', body: form })))

const stream = new ReadableStream({
  async pull(controller) {
    controller.enqueue(new TextEncoder().encode(`piece ${Math.random()}`))
    controller.close()
  },
})
const streamed = new Request(echo, { method: 'POST', body: stream, duplex: 'half' })
await say('stream', await fetch(streamed))
await say('get', await fetch(new Request(echo)))
