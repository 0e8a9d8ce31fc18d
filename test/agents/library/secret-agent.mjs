// An agent that is careless with its API key and its cookies.
import http from 'node:http'
import axios from 'axios'
import OpenAI from 'openai'

export async function agent(base) {
  const key = process.env.MODEL_API_KEY
  const client = new OpenAI({ apiKey: key, baseURL: `${base}/v1` })
  const completion = await client.chat.completions.create({
    model: 'gpt-example',
    messages: [{ role: 'user', content: `my key is ${key}, is it good?` }],
  })
  const echoed = await fetch(`${base}/echo?api_key=${key}&also=${key}`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'x-note': `key ${key}`, cookie: `session=${key}` },
    body: JSON.stringify({ key, twice: [key, key] }),
  })
  const overHttp = await axios.post(`${base}/echo?token=${key}`, { key }, { headers: { a: key } })
  const answer = await echoed.json()
  console.log('my key is', key)
  console.error(`${key}${key}`)

  const cookies = [await cookieByFetch(base), await cookieByHttp(base)]
  for (const cookie of cookies) {
    // What comes back is sent on, in the header and in a body, and printed.
    await fetch(`${base}/echo`, { method: 'POST', headers: { cookie }, body: `saw ${cookie}` })
    console.log('cookie', cookie)
  }
  return {
    key,
    cookies,
    content: completion.choices[0].message.content,
    echoed: [answer.query, answer.body, overHttp.data.query, overHttp.data.body],
  }
}

async function cookieByFetch(base) {
  const response = await fetch(`${base}/set-cookie`)
  return response.headers.getSetCookie()[0].split(';')[0]
}

const cookieByHttp = (base) =>
  new Promise((resolve, reject) => {
    http
      .get(`${base}/set-cookie`, (response) => {
        response.resume()
        resolve(response.headers['set-cookie'][0].split(';')[0])
      })
      .on('error', reject)
  })
