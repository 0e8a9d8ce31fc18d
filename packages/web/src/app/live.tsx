import { startViewer } from './app.js'
import { connectHome } from './sources/server-home.js'

startViewer(connectHome())
