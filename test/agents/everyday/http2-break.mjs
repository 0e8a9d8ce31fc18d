import { connect } from 'node:http2'

const session = connect(process.env.AGENT_H2_URL)
const stream = session.request({ ':path': '/chunks?count=20&gapMs=20' })
for await (const chunk of stream) {
  console.log(String(chunk))
  break
}
session.destroy()
console.log('left')
